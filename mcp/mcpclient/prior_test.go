package mcpclient_test

import (
	"encoding/json/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// statelessPrior is what a client of the server of stateless knows.
func statelessPrior() *mcpclient.Prior {
	return &mcpclient.Prior{
		Revision:     mcp.V20260728,
		Server:       mcp.Implementation{Name: "new", Version: "2"},
		Capabilities: mcp.ServerCapabilities{Tools: &mcp.ListCapability{}},
		Instructions: "be kind",
		At:           time.Now(),
	}
}

// hello answers each call with a text.
func hello(_ *script, m message) string {
	if m.Method == mcp.MethodToolsCall {
		return m.result(`{"content":[{"type":"text","text":"hello"}]}`)
	}
	return m.fail(-32601, "not scripted", "")
}

func TestPriorIsStoredAsJSON(t *testing.T) {
	t.Parallel()
	for era, handle := range eras(nil) {
		_, target := serve(t, handle)
		c := connect(t, target, nil)
		p := c.Prior()
		if p.Revision != c.Revision() || p.Server.Name != c.Server().Name || p.Capabilities.Tools == nil || p.Instructions != "be kind" || p.At.IsZero() {
			t.Errorf("%s: got %+v, want what the server has declared", era, p)
		}
		stored, err := json.Marshal(p, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		var read mcpclient.Prior
		if err := json.Unmarshal(stored, &read); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(read, json.Deterministic(true))
		if err != nil || string(again) != string(stored) || !read.At.Equal(p.At) {
			t.Errorf("%s: got %s, %v, want %s", era, again, err, stored)
		}
	}
}

func TestPriorOfTheStatelessEraConnectsWithoutAMessage(t *testing.T) {
	t.Parallel()
	servers, target := serve(t, stateless(hello))
	c := connect(t, target, &mcpclient.Options{Prior: statelessPrior()})
	if got := servers.nth(0).methods(); got != "" {
		t.Errorf("Connect sent %q, want nothing", got)
	}
	if c.Revision() != mcp.V20260728 || c.Server().Name != "new" || c.Capabilities().Tools == nil || c.Instructions() != "be kind" {
		t.Errorf("got %v, %+v, %+v, want those of Prior", c.Revision(), c.Server(), c.Capabilities())
	}
	for range 2 {
		if got, err := c.Call[string](t.Context(), "greet", nil); err != nil || got != "hello" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if got := servers.nth(0).methods(); got != "tools/call tools/call" {
		t.Errorf("got %q, want the calls alone", got)
	}
}

func TestPriorOfTheStatelessEraConnectsOverHTTPWithoutARequest(t *testing.T) {
	t.Parallel()
	s := web(t, statelessWeb(func(e *exchange) { e.json(http.StatusOK, hello(nil, e.message)) }))
	c := connect(t, mcpclient.URL(s.URL), &mcpclient.Options{Prior: statelessPrior()})
	if got := s.log(); len(got) != 0 {
		t.Errorf("Connect sent %q, want nothing", got)
	}
	if got, err := c.Call[string](t.Context(), "greet", nil); err != nil || got != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
	if got := strings.Join(s.log(), ", "); got != "POST tools/call" {
		t.Errorf("got %q, want the call alone", got)
	}
}

func TestPriorThatIsOldOrExcludedIsNotUsed(t *testing.T) {
	t.Parallel()
	old, untimed, empty := statelessPrior(), statelessPrior(), statelessPrior()
	old.At = time.Now().Add(-25 * time.Hour)
	untimed.At = time.Time{}
	empty.Revision = mcp.Revision{}
	for name, opts := range map[string]*mcpclient.Options{
		"old":                     {Prior: old},
		"without a time":          {Prior: untimed},
		"without a revision":      {Prior: empty},
		"of an excluded revision": {Prior: statelessPrior(), Revisions: []mcp.Revision{mcp.V20251125}},
	} {
		servers, target := serve(t, func(s *script, m message) string {
			if m.Method == mcp.MethodInitialize {
				return session(mcp.V20251125, nil)(s, m)
			}
			return stateless(hello)(s, m)
		})
		connect(t, target, opts)
		if got := servers.nth(0).methods(); !strings.HasPrefix(got, "server/discover") && !strings.HasPrefix(got, "initialize") {
			t.Errorf("%s: got %q, want a negotiation", name, got)
		}
	}
}

// Servers of the session era refuse a request before initialize in many ways.
func TestWrongPriorIsCorrectedByOneNegotiation(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-065b")
	for name, refuse := range map[string]func(s *script, m message) string{
		"method not found": func(_ *script, m message) string { return m.fail(-32601, "Method not found", "") },
		"invalid request":  func(_ *script, m message) string { return m.fail(-32600, "not initialized", "") },
		"invalid params":   func(_ *script, m message) string { return m.fail(-32602, "Invalid request parameters", `""`) },
		"own number":       func(_ *script, m message) string { return m.fail(-32000, "Server not initialized", "") },
		"version": func(_ *script, m message) string {
			return m.fail(-32022, "no", `{"supported":["2025-11-25"],"requested":"2026-07-28"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, beforeInitialize(refuse))
			c := connect(t, target, &mcpclient.Options{Prior: statelessPrior()})
			if got, err := c.Call[string](t.Context(), "greet", nil); err != nil || got != "hello" {
				t.Errorf("got %q, %v, want the answer of the second attempt", got, err)
			}
			if got := c.Revision(); got != mcp.V20251125 {
				t.Errorf("got %v, want %v", got, mcp.V20251125)
			}
			if got := len(servers.nth(1).messages(mcp.MethodToolsCall)); got != 1 {
				t.Errorf("the call was sent %d times over the second connection, want once", got)
			}
			if p := c.Prior(); p.Revision != mcp.V20251125 || p.Server.Name != "old" {
				t.Errorf("got the prior %+v, want that of the negotiation", p)
			}
		})
	}
}

// beforeInitialize is a server of the session era that refuses calls before initialize.
func beforeInitialize(refuse func(s *script, m message) string) func(*script, message) string {
	return session(mcp.V20251125, func(s *script, m message) string {
		if len(s.messages(mcp.MethodInitialize)) == 0 {
			return refuse(s, m)
		}
		return hello(s, m)
	})
}

func TestWrongPriorIsCorrectedOverHTTP(t *testing.T) {
	t.Parallel()
	serveSession := sessionWeb(mcp.V20251125, func(e *exchange) { e.json(http.StatusOK, hello(nil, e.message)) })
	s := web(t, func(e *exchange) {
		if e.message.Method == mcp.MethodToolsCall && e.Request.Header.Get("Mcp-Session-Id") == "" {
			e.json(http.StatusBadRequest, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: no session"}}`)
			return
		}
		serveSession(e)
	})
	c := connect(t, mcpclient.URL(s.URL), &mcpclient.Options{Prior: statelessPrior()})
	if got, err := c.Call[string](t.Context(), "greet", nil); err != nil || got != "hello" {
		t.Errorf("got %q, %v, want the answer of the second attempt", got, err)
	}
	if got := c.Revision(); got != mcp.V20251125 {
		t.Errorf("got %v, want %v", got, mcp.V20251125)
	}
}

func TestAnErrorOfACallDoesNotRefuteARightPrior(t *testing.T) {
	t.Parallel()
	servers, target := serve(t, stateless(func(_ *script, m message) string { return m.fail(-32602, "unknown tool", "") }))
	c := connect(t, target, &mcpclient.Options{Prior: statelessPrior()})
	for range 2 {
		if _, err := c.Call[string](t.Context(), "greet", nil); mcp.CodeOf(err) != mcp.CodeInvalidParams {
			t.Errorf("got %v, want the error of the server", err)
		}
	}
	if got := servers.nth(0).methods(); got != "tools/call server/discover tools/call" {
		t.Errorf("got %q, want each call once and one question about the revision", got)
	}
}

func TestAPriorThatTheServerDoesNotAnswerIsCorrectedForTheNextCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, target := serve(t, func(s *script, m message) string {
			if m.Method == mcp.MethodDiscover {
				return ""
			}
			return beforeInitialize(func(*script, message) string { return "" })(s, m)
		})
		c := connect(t, target, &mcpclient.Options{Prior: statelessPrior()})
		if _, err := c.Call[string](t.Context(), "greet", nil); err == nil {
			t.Error("got no error, want that of the timeout")
		}
		time.Sleep(10 * time.Second) // for the client to ask
		if got, err := c.Call[string](t.Context(), "greet", nil); err != nil || got != "hello" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestServerThatExitsOnAWrongPriorIsNegotiatedWith(t *testing.T) {
	t.Parallel()
	_, target := serve(t, func(s *script, m message) string {
		if m.Method == mcp.MethodDiscover || m.Method == mcp.MethodToolsCall && len(s.messages(mcp.MethodInitialize)) == 0 {
			s.conn.Close()
			return ""
		}
		return session(mcp.V20251125, hello)(s, m)
	})
	c := connect(t, target, &mcpclient.Options{Prior: statelessPrior()})
	if _, err := c.Call[string](t.Context(), "greet", nil); err == nil {
		t.Error("got no error, want a lost connection")
	}
	if got, err := c.Call[string](t.Context(), "greet", nil); err != nil || got != "hello" {
		t.Errorf("the next call: got %q, %v", got, err)
	}
}

func TestHandlersOfListsWorkWithAPrior(t *testing.T) {
	t.Parallel()
	changed := make(chan struct{}, 10)
	servers, target := serve(t, session(mcp.V20251125, nil))
	p := statelessPrior()
	p.Capabilities.Tools.ListChanged = true
	c := connect(t, target, &mcpclient.Options{
		Prior: p, OnToolsChanged: func(ctxT, *mcpclient.Client) { changed <- struct{}{} },
	})
	for c.Revision() != mcp.V20251125 { // until the refused subscription has led to a negotiation
		_ = c.Ping(t.Context())
	}
	servers.nth(1).send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	<-changed
}
