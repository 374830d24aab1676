package dialect_test

import (
	"errors"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// FuzzOpen opens arbitrary messages, in a session of each revision and without
// one, with and without headers. An error can be sent to the peer; a call has
// the facts of its era.
func FuzzOpen(f *testing.F) {
	for _, params := range []string{
		"", `{}`, `[]`, `null`, `{` + modernMeta + `}`, `{"name":"echo","arguments":{"text":"a"},` + modernMeta + `}`,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}`, `{"_meta":[]}`, `{"_meta":{"progressToken":{}}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`,
	} {
		for _, method := range []string{"tools/call", "initialize", "server/discover", "acme/count", "notifications/cancelled"} {
			f.Add(method, []byte(params), "2026-07-28", "echo", true)
			f.Add(method, []byte(params), "", "=?base64?ZWNobw==?=", false)
		}
	}
	s := newServer()
	f.Fuzz(func(t *testing.T, method string, params []byte, version, name string, request bool) {
		m, err := jsonrpc.Decode(encodeCall(method, params, request), jsonrpc.Limits{})
		if err != nil {
			return
		}
		headers := &dialect.Headers{Version: []string{version}, Method: []string{method}, Name: []string{name}}
		for _, h := range []*dialect.Headers{nil, headers} {
			checkOpen(t, s, m, dialect.TransportInfo{Headers: h})
			for _, v := range mcp.Revisions() {
				if facts := dialect.Of(v); facts.Era == dialect.SessionEra {
					checkOpen(t, s, m, dialect.TransportInfo{Headers: h, Session: &dialect.Session{Facts: facts}})
				}
			}
		}
	})
}

func encodeCall(method string, params []byte, request bool) []byte {
	if request {
		return jsonrpc.AppendRequest(nil, numberID(1), method, params)
	}
	return jsonrpc.AppendNotification(nil, method, params)
}

func checkOpen(t *testing.T, s *dialect.Server, m jsonrpc.Message, in dialect.TransportInfo) {
	t.Helper()
	c, err := s.Open(m, in)
	if c == nil || c.Facts == nil {
		t.Fatalf("%s %s: got no call, %v", m.Method, m.Params, err)
	}
	if err != nil {
		refused, isRefusal := errors.AsType[*dialect.Refusal](err)
		_, isError := errors.AsType[*mcp.Error](err)
		if !isError || isRefusal && refused.Status < 400 {
			t.Fatalf("%s %s: refused with %v, which cannot be sent", m.Method, m.Params, err)
		}
		return
	}
	stateless := c.Facts.Era == dialect.StatelessEra
	opens := m.Method == mcp.MethodInitialize && m.Kind == jsonrpc.Request // a session, of any revision
	if stateless != s.IsStateless(m, in.Headers, in.Session != nil) || !stateless && !opens && in.Session != nil && c.Facts != in.Session.Facts {
		t.Fatalf("%s %s: opened in %s", m.Method, m.Params, c.Facts.Revision)
	}
}
