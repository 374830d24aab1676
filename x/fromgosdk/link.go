package fromgosdk

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is a session of the other server together with the client's end of its connection. It
// implements the Transport and the Connection of go-sdk.
type link struct {
	b       *bridge
	id      string // of the session; empty in the stateless era
	session *gosdk.ServerSession
	toOther chan jsonrpc.Message // without a buffer: the session reads at all times
	done    chan struct{}        // closed when the connection is closed
	once    sync.Once
	asking  sync.WaitGroup

	mu     sync.Mutex
	lastID float64                               // guarded by mu
	calls  map[jsonrpc.ID]chan *jsonrpc.Response // guarded by mu
}

// runningCall is a call that a handler of the other server is running for.
type runningCall struct {
	*mirror.Call
	ctx      context.Context
	panicked string // written before the response
}

// Connect implements the Transport of go-sdk.
func (l *link) Connect(context.Context) (gosdk.Connection, error) { return l, nil }

// SessionID implements the Connection of go-sdk.
func (l *link) SessionID() string { return l.id }

// Read implements the Connection of go-sdk.
func (l *link) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-l.toOther:
		return m, nil
	case <-l.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close implements the Connection of go-sdk.
func (l *link) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Write implements the Connection of go-sdk: it takes a message of the other server. The
// context of a request or notification is that of the handler that sends it.
func (l *link) Write(ctx context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Response:
		l.mu.Lock()
		answered := l.calls[m.ID]
		delete(l.calls, m.ID)
		l.mu.Unlock()
		if answered != nil {
			answered <- m // has room for it
		}
	case *jsonrpc.Request:
		if !m.IsCall() {
			l.notification(ctx, m)
			return nil
		}
		l.asking.Go(func() { l.answer(mirror.CallFrom(ctx), m) })
	}
	return nil
}

// notification handles a notification of the other server. Those that belong to no call have
// no receiver, except for changes, which the bridge's own session gets.
func (l *link) notification(ctx context.Context, m *jsonrpc.Request) {
	c := mirror.CallFrom(ctx)
	switch m.Method {
	case mcp.NotificationProgress:
		if c != nil {
			_ = c.Progress(jsontext.Value(m.Params))
		}
	case mcp.NotificationMessage:
		if c != nil {
			_ = c.Log(jsontext.Value(m.Params))
		}
	case mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged:
		if l == l.b.own {
			select {
			case l.b.changed <- struct{}{}:
			default:
			}
		}
	case mcp.NotificationResourceUpdated:
		var p mcp.ResourceUpdatedParams
		if l == l.b.own && l.b.updated != nil && json.Unmarshal(m.Params, &p) == nil {
			l.b.updated(p.URI)
		}
	}
}

// answer asks the client of a call, and answers the other server.
func (l *link) answer(c *mirror.Call, m *jsonrpc.Request) {
	response := &jsonrpc.Response{ID: m.ID}
	result, err := jsontext.Value(nil), mirror.ErrNoCall
	switch {
	case m.Method == mcp.MethodPing:
		result, err = jsontext.Value(`{}`), nil
	case c != nil:
		result, err = c.Ask(m.Method, jsontext.Value(m.Params))
	}
	if err != nil {
		number, message := mirror.Number(err)
		response.Error = &jsonrpc.Error{Code: number, Message: message}
	} else {
		response.Result = []byte(result)
	}
	_ = l.send(response)
}

// send sends a message to the other server.
func (l *link) send(m jsonrpc.Message) error {
	select {
	case l.toOther <- m:
		return nil
	case <-l.done:
		return errUnmounted
	}
}

func (l *link) notify(method string, params any) {
	if raw, err := encode(params); err == nil {
		_ = l.send(&jsonrpc.Request{Method: method, Params: raw})
	}
}

// do sends a request to the other server and waits for its response, also when ctx ends: the
// handler is told, and may then still be running.
func (l *link) do(ctx context.Context, c *mirror.Call, method string, params any) (jsontext.Value, error) {
	raw, err := encode(params)
	if err != nil {
		return nil, err
	}
	request := &jsonrpc.Request{Method: method, Params: raw}
	running := &runningCall{Call: c, ctx: ctx}
	if c != nil {
		extra := extraOf(c.Request())
		request.Extra = extra
		l.b.begin(extra, running)
		defer l.b.end(extra)
	}
	number, answered, err := l.begin(request)
	if err != nil {
		return nil, err
	}
	if err := l.send(request); err != nil {
		return nil, err
	}
	response, err := l.wait(ctx, number, answered)
	if running.panicked != "" {
		panic(running.panicked) // the caller contains and logs it
	}
	if err != nil {
		return nil, err
	}
	return resultOf(response)
}

// begin gives a request an id.
func (l *link) begin(request *jsonrpc.Request) (number float64, answered chan *jsonrpc.Response, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastID++
	if request.ID, err = jsonrpc.MakeID(l.lastID); err != nil {
		return 0, nil, err
	}
	answered = make(chan *jsonrpc.Response, 1)
	l.calls[request.ID] = answered
	return l.lastID, answered, nil
}

func (l *link) wait(ctx context.Context, number float64, answered chan *jsonrpc.Response) (*jsonrpc.Response, error) {
	ended := ctx.Done()
	for {
		select {
		case response := <-answered:
			return response, nil
		case <-l.done:
			return nil, errUnmounted
		case <-ended:
			ended = nil
			l.notify(mcp.NotificationCancelled, map[string]any{"requestId": number})
		}
	}
}

func resultOf(response *jsonrpc.Response) (jsontext.Value, error) {
	if response.Error == nil {
		return jsontext.Value(response.Result), nil
	}
	if e, ok := errors.AsType[*jsonrpc.Error](response.Error); ok {
		return nil, mirror.Error(e.Code, e.Message, jsontext.Value(e.Data))
	}
	return nil, mirror.Error(0, response.Error.Error(), nil)
}

// close ends the session of the other server and waits for its handlers.
func (l *link) close() {
	_ = l.session.Close()
	l.asking.Wait()
}

func (b *bridge) begin(extra *gosdk.RequestExtra, c *runningCall) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[extra] = c
}

func (b *bridge) end(extra *gosdk.RequestExtra) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.calls, extra)
}

// extraOf returns what go-sdk tells handlers about the HTTP request of a call.
func extraOf(r *mcpserver.Request) *gosdk.RequestExtra {
	extra := &gosdk.RequestExtra{Header: r.Header()}
	who := r.Identity()
	if who == nil || !who.Principal.Authenticated() {
		return extra
	}
	extra.TokenInfo = &auth.TokenInfo{Scopes: who.Scopes, Expiration: who.Expires, UserID: who.Principal.Subject}
	if who.Claims != nil {
		_ = json.Unmarshal(who.Claims, &extra.TokenInfo.Extra)
	}
	return extra
}

// encode encodes params for the other SDK. Nil stays nil.
func encode(params any) ([]byte, error) {
	if params == nil {
		return nil, nil
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encode for go-sdk: %w", err)
	}
	return raw, nil
}
