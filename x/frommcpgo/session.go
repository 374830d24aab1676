package frommcpgo

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/x/internal/mirror"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// everyLevel is the log level of all sessions of the other server: the server that the client
// is connected to leaves out what the client did not ask for.
const everyLevel = mcpgotypes.LoggingLevelDebug

// session is a session of the other server. It implements mirror.Session.
type session struct {
	foreign    *foreign
	other      *mcpgo.InProcessSession
	registered bool // with the other server
	lastID     atomic.Int64
	closed     chan struct{}
	receiving  sync.WaitGroup
}

// message is a JSON-RPC message to the other server.
type message struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      int64          `json:"id,omitzero"`
	Method  string         `json:"method"`
	Params  jsontext.Value `json:"params,omitzero"`
}

// response is the response of the other server.
type response struct {
	Result jsontext.Value `json:"result"`
	Error  *struct {
		Code    int64          `json:"code"`
		Message string         `json:"message"`
		Data    jsontext.Value `json:"data"`
	} `json:"error"`
}

// Do implements mirror.Session. The handler runs on this goroutine.
func (s *session) Do(ctx context.Context, method string, params jsontext.Value) (jsontext.Value, error) {
	var to mcpgo.ClientSession = s.other
	if call := mirror.CallFrom(ctx); call != nil {
		if s.foreign.context != nil {
			ctx = s.foreign.context(ctx, call.Request())
		}
		during := newCallSession(s.other, call)
		defer during.end()
		to = during
	}
	raw, err := s.send(ctx, to, &message{"2.0", s.lastID.Add(1), method, params})
	if err != nil {
		return nil, err
	}
	if method == mcp.MethodInitialize {
		s.other.SetLogLevel(everyLevel) // initialize sets another
	}
	var r response
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("%s: response of mcp-go: %w", method, err)
	}
	if e := r.Error; e != nil {
		return nil, mirror.Error(e.Code, e.Message, e.Data)
	}
	return r.Result, nil
}

// Notify implements mirror.Session.
func (s *session) Notify(ctx context.Context, method string) {
	_, _ = s.send(ctx, s.other, &message{JSONRPC: "2.0", Method: method}) // has no response
}

// send has the other server handle a message, and returns the response.
func (s *session) send(ctx context.Context, to mcpgo.ClientSession, m *message) (jsontext.Value, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	answer, err := encode(s.foreign.other.HandleMessage(s.foreign.other.WithContext(ctx, to), []byte(raw)))
	if err != nil {
		return nil, fmt.Errorf("%s: response of mcp-go: %w", m.Method, err)
	}
	return answer, nil
}

// receive passes on the notifications that belong to the session and to no call, until the
// session is closed.
func (s *session) receive(receive mirror.Receiver) {
	for {
		select {
		case <-s.closed:
			return
		case n := <-s.other.ClientNotifications():
			if params, err := encode(n.Params); err == nil {
				receive(n.Method, params)
			}
		}
	}
}

// Close implements mirror.Session. The calls of the client have ended.
func (s *session) Close() {
	if s.registered {
		s.foreign.other.UnregisterSession(context.Background(), s.other.SessionID())
	}
	close(s.closed)
	s.receiving.Wait()
}
