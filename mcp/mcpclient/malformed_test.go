package mcpclient_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestMalformedRequestOfTheServerIsAnswered(t *testing.T) {
	t.Parallel()
	const request = `{"jsonrpc":"2.0","id":"u","method":"ping","params":{"x":NaN}}`
	came := make(chan message, 4)
	_, target := serve(t, func(s *script, m message) string {
		if m.Method == "" {
			came <- m
			return ""
		}
		return session(mcp.V20251125, func(s *script, m message) string {
			s.send(request)
			return m.result(`{"content":[]}`)
		})(s, m)
	})
	s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
		switch {
		case e.message.Method == "" && e.Request.Method == http.MethodPost:
			came <- e.message
			e.w.WriteHeader(http.StatusAccepted)
		case e.message.Method == mcp.MethodToolsCall:
			e.event("data: "+request, "", "data: "+e.result(`{"content":[]}`))
		default:
			e.w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	for name, target := range map[string]mcpclient.Target{"a connection": target, "HTTP": mcpclient.URL(s.URL)} {
		c := connect(t, target, nil)
		if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := <-came; !strings.Contains(string(got.Error), "-32700") || string(got.ID) != `"u"` {
			t.Errorf("%s: got %s %s, want -32700 for the request", name, got.ID, got.Error)
		}
	}
}

// An unreadable response ends its own call only, and the ids of other calls, of requests of the
// server and of calls that are over have no effect.
func TestMalformedResponseEndsOnlyItsCall(t *testing.T) {
	t.Parallel()
	for era, handle := range eras(func(s *script, m message) string {
		if m.param("name") != `"bad"` {
			return m.result(`{"content":[{"type":"text","text":"good"}],"resultType":"complete"}`)
		}
		s.send(`{"jsonrpc":"2.0","result":NaN}`) // first, because it ends the only call in flight
		s.send(`{"jsonrpc":"2.0","id":"` + string(m.ID) + `","result":NaN}`)
		s.send(`{"jsonrpc":"2.0","id":999999,"result":NaN}`)
		s.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"method":"notifications/x","params":NaN}`)
		return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":NaN}}`
	}) {
		_, target := serve(t, handle)
		c := connect(t, target, nil)
		for range 3 {
			_, err := c.CallTool(t.Context(), "bad", nil)
			if invalid, ok := errors.AsType[*mcpclient.ProtocolError](err); !ok || !strings.Contains(invalid.Error(), "not strict JSON") {
				t.Errorf("%s: got %v, want a ProtocolError that says what is wrong", era, err)
			}
			if r, err := c.CallTool(t.Context(), "good", nil); err != nil || r.Content.Text() != "good" {
				t.Errorf("%s: got %v, %v after a malformed response", era, r, err)
			}
		}
	}
}

func TestRepairedResponseIsWithinTheLimit(t *testing.T) {
	t.Parallel()
	for era, handle := range eras(func(_ *script, m message) string {
		return m.result(`{"content":[{"type":"text","text":"` + strings.Repeat("\xff", 4000) + `"}],"resultType":"complete"}`)
	}) {
		_, target := serve(t, handle)
		c := connect(t, target, &mcpclient.Options{Limits: mcpclient.LimitOptions{MaxMessage: 10_000}})
		_, err := c.CallTool(t.Context(), "a", nil)
		if invalid, ok := errors.AsType[*mcpclient.ProtocolError](err); !ok || !strings.Contains(invalid.Error(), "longer than 10000 bytes") {
			t.Errorf("%s: got %v, want a ProtocolError with the limit", era, err)
		}
	}
}
