package fromgosdk

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/x/internal/mirror"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// connection is the connection of a session of the other server. It implements the Transport
// and the Connection of go-sdk. All methods are safe for concurrent use.
type connection struct {
	id      string // of the session; empty in the stateless era
	receive mirror.Receiver
	toOther chan jsonrpc.Message // without a buffer: the session reads at all times
	closed  chan struct{}
	once    sync.Once      // closes closed
	asking  sync.WaitGroup // requests of the other server that are being answered

	mu     sync.Mutex
	lastID float64                               // guarded by mu
	calls  map[jsonrpc.ID]chan *jsonrpc.Response // guarded by mu
}

func newConnection(id string, receive mirror.Receiver) *connection {
	return &connection{
		id: id, receive: receive, toOther: make(chan jsonrpc.Message), closed: make(chan struct{}),
		calls: make(map[jsonrpc.ID]chan *jsonrpc.Response),
	}
}

// Connect implements the Transport of go-sdk.
func (c *connection) Connect(context.Context) (gosdk.Connection, error) { return c, nil }

// SessionID implements the Connection of go-sdk.
func (c *connection) SessionID() string { return c.id }

// Read implements the Connection of go-sdk.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.toOther:
		return m, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close implements the Connection of go-sdk.
func (c *connection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Write implements the Connection of go-sdk: it takes a message of the other server. The
// context of a request or notification is that of the handler that sends it.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Response:
		c.mu.Lock()
		answered := c.calls[m.ID]
		delete(c.calls, m.ID)
		c.mu.Unlock()
		if answered != nil {
			answered <- m // has room for it
		}
	case *jsonrpc.Request:
		call := mirror.CallFrom(ctx)
		switch {
		case m.IsCall():
			c.asking.Go(func() { c.answer(call, m) })
		case call != nil:
			call.Notify(m.Method, jsontext.Value(m.Params))
		default:
			c.receive(m.Method, jsontext.Value(m.Params))
		}
	}
	return nil
}

// answer asks the client of a call, and answers the other server.
func (c *connection) answer(call *mirror.Call, m *jsonrpc.Request) {
	response := &jsonrpc.Response{ID: m.ID}
	result, err := jsontext.Value(nil), mirror.ErrNoCall
	switch {
	case m.Method == mcp.MethodPing:
		result, err = jsontext.Value(`{}`), nil
	case call != nil:
		result, err = call.Ask(m.Method, jsontext.Value(m.Params))
	}
	if err != nil {
		number, message := mirror.Number(err)
		response.Error = &jsonrpc.Error{Code: number, Message: message}
	} else {
		response.Result = []byte(result)
	}
	_ = c.send(response)
}

// send sends a message to the other server.
func (c *connection) send(m jsonrpc.Message) error {
	select {
	case c.toOther <- m:
		return nil
	case <-c.closed:
		return mirror.ErrUnmounted
	}
}

func (c *connection) notify(method string, params []byte) error {
	return c.send(&jsonrpc.Request{Method: method, Params: params})
}

// request sends a request and waits for its response. When ctx ends, it notifies the other
// server and goes on waiting.
func (c *connection) request(ctx context.Context, request *jsonrpc.Request) (jsontext.Value, error) {
	number, answered, err := c.begin(request)
	if err != nil {
		return nil, err
	}
	if err := c.send(request); err != nil {
		return nil, err
	}
	response, err := c.wait(ctx, number, answered)
	if err != nil {
		return nil, err
	}
	return resultOf(response)
}

// begin gives a request an id.
func (c *connection) begin(request *jsonrpc.Request) (number float64, answered chan *jsonrpc.Response, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	if request.ID, err = jsonrpc.MakeID(c.lastID); err != nil {
		return 0, nil, err
	}
	answered = make(chan *jsonrpc.Response, 1)
	c.calls[request.ID] = answered
	return c.lastID, answered, nil
}

func (c *connection) wait(ctx context.Context, number float64, answered chan *jsonrpc.Response) (*jsonrpc.Response, error) {
	ended := ctx.Done()
	for {
		select {
		case response := <-answered:
			return response, nil
		case <-c.closed:
			return nil, mirror.ErrUnmounted
		case <-ended:
			ended = nil
			_ = c.notify(mcp.NotificationCancelled, fmt.Appendf(nil, `{"requestId":%.0f}`, number))
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
