package frommcpgo

import (
	"context"
	"crypto/rand"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// revision is what the sessions of the other server speak: the newest revision in which a
// handler can send requests to the client.
const revision = "2025-11-25"

// link is a session of the other server.
type link struct {
	b       *bridge
	session *mcpgo.InProcessSession
	lastID  atomic.Int64
	done    chan struct{} // closed when the session ends
	relays  sync.WaitGroup
}

// open opens a session of the other server by a handshake, for the client that has sent a
// request, or for the bridge itself if r is nil. It returns what the other server answered.
func (b *bridge) open(r *mcpserver.Request) (*link, *mcp.InitializeResult, error) {
	l := b.newLink(r.Session().ID())
	ctx := context.Background()
	if s := r.Session(); s != nil {
		l.relays.Go(func() { l.relay(s) })
	}
	if err := b.other.RegisterSession(ctx, l.session); err != nil {
		l.close()
		return nil, nil, fmt.Errorf("session of the server of mcp-go: %w", err)
	}
	about := new(mcp.InitializeResult)
	raw, err := l.do(ctx, nil, mcp.MethodInitialize, &initializeParams{revision, clientOf(r), r.Capabilities()})
	if err == nil {
		err = json.Unmarshal(raw, about)
	}
	if err != nil {
		l.close()
		return nil, nil, fmt.Errorf("initialize: %w", err)
	}
	l.session.SetLogLevel(mcpgotypes.LoggingLevelDebug) // our server leaves out what the client did not ask for
	l.notify(ctx, mcp.NotificationInitialized, nil)
	return l, about, nil
}

// openOnce returns a session for one request of the stateless era. The other server does not
// know it: it needs no handshake, and need not be closed.
func (b *bridge) openOnce(r *mcpserver.Request) (*link, error) {
	l := b.newLink(rand.Text())
	raw, err := json.Marshal(&initializeParams{revision, clientOf(r), r.Capabilities()})
	if err != nil {
		return nil, err
	}
	var params mcpgotypes.InitializeParams
	if err := json.Unmarshal(raw, &params); err != nil {
		return nil, err
	}
	l.session.Initialize()
	l.session.SetLogLevel(mcpgotypes.LoggingLevelDebug)
	l.session.SetClientInfo(params.ClientInfo)
	l.session.SetClientCapabilities(params.Capabilities)
	return l, nil
}

func (b *bridge) newLink(id string) *link {
	if id == "" {
		id = rand.Text()
	}
	return &link{b: b, session: mcpgo.NewInProcessSessionWithHandlers(id, client{}, client{}, client{}), done: make(chan struct{})}
}

// close ends the session. The calls of the client have ended.
func (l *link) close() {
	l.b.other.UnregisterSession(context.Background(), l.session.SessionID())
	close(l.done)
	l.relays.Wait()
}

// relay takes the notifications that belong to the session and to no call, until the link is
// closed. It sends log messages to the client. Changes are those that the bridge's own session
// gets, too; others have no receiver.
func (l *link) relay(s *mcpserver.Session) {
	for {
		select {
		case <-l.done:
			return
		case n := <-l.session.ClientNotifications():
			if n.Method != mcp.NotificationMessage {
				continue
			}
			var m mcp.LoggingMessageParams
			if raw, err := encode(n.Params); err == nil && json.Unmarshal(raw, &m) == nil {
				_ = s.ForwardLog(s.Context(), &m)
			}
		}
	}
}

type initializeParams struct {
	ProtocolVersion string                 `json:"protocolVersion"`
	ClientInfo      mcp.Implementation     `json:"clientInfo"`
	Capabilities    mcp.ClientCapabilities `json:"capabilities"`
}

// clientOf returns the client that has sent a request. The bridge's own session has the name
// of this module.
func clientOf(r *mcpserver.Request) mcp.Implementation {
	if client, known := r.Client(); known {
		return client
	}
	return mcp.Implementation{Name: "frommcpgo", Version: "1"}
}

// message is a JSON-RPC message to the other server.
type message struct {
	JSONRPC string `json:"jsonrpc"`
	ID      int64  `json:"id,omitzero"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitzero"`
}

// do sends a request to the other server, whose handler runs on this goroutine.
func (l *link) do(ctx context.Context, c *mirror.Call, method string, params any) (jsontext.Value, error) {
	raw, err := json.Marshal(&message{"2.0", l.lastID.Add(1), method, params})
	if err != nil {
		return nil, err
	}
	var session mcpgo.ClientSession = l.session
	if c != nil {
		s := newCallSession(l.session, c)
		defer s.end()
		session = s
	}
	answer, err := encode(l.b.other.HandleMessage(l.b.other.WithContext(ctx, session), []byte(raw)))
	if err != nil {
		return nil, fmt.Errorf("%s: response of mcp-go: %w", method, err)
	}
	var response struct {
		Result jsontext.Value `json:"result"`
		Error  *struct {
			Code    int64          `json:"code"`
			Message string         `json:"message"`
			Data    jsontext.Value `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal(answer, &response); err != nil {
		return nil, fmt.Errorf("%s: response of mcp-go: %w", method, err)
	}
	if e := response.Error; e != nil {
		return nil, mirror.Error(e.Code, e.Message, e.Data)
	}
	return response.Result, nil
}

func (l *link) notify(ctx context.Context, method string, params any) {
	if raw, err := json.Marshal(&message{JSONRPC: "2.0", Method: method, Params: params}); err == nil {
		l.b.other.HandleMessage(l.b.other.WithContext(ctx, l.session), []byte(raw))
	}
}
