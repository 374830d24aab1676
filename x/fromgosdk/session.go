package fromgosdk

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is a session of the other server. It implements mirror.Session.
type session struct {
	foreign *foreign
	other   *gosdk.ServerSession
	conn    *connection
}

// Do implements mirror.Session.
func (s *session) Do(ctx context.Context, method string, params jsontext.Value) (jsontext.Value, error) {
	request := &jsonrpc.Request{Method: method, Params: []byte(params)}
	call := mirror.CallFrom(ctx)
	if call == nil {
		return s.conn.request(ctx, request)
	}
	running, extra := &runningCall{ctx: ctx}, extraOf(call.Request())
	request.Extra = extra
	s.foreign.begin(extra, running)
	defer s.foreign.end(extra)
	result, err := s.conn.request(ctx, request)
	if running.panicked != "" {
		panic(running.panicked) // the caller contains and logs it
	}
	return result, err
}

// Notify implements mirror.Session.
func (s *session) Notify(_ context.Context, method string) {
	_ = s.conn.notify(method, []byte(`{}`))
}

// Close implements mirror.Session.
func (s *session) Close() {
	_ = s.other.Close()
	s.conn.asking.Wait()
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
