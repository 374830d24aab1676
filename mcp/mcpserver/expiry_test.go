package mcpserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// lasting has a tool that takes three minutes.
func lasting() *mcpserver.Server {
	srv := newServer(nil)
	srv.Tool("long", "", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case <-time.After(3 * time.Minute):
			return "done", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	return srv
}

func TestSubscriptionEndsWithItsCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := vault(nil)
		defer func() { _ = srv.Shutdown(context.Background()) }()
		c := callerOf(t, srv, mcp.V20260728, "")
		began := time.Now()
		v := c.call("!ada a b", "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
		if took := time.Since(began); v.Error != nil || v.Result == nil || took != time.Minute {
			t.Errorf("got %s after %v, want the orderly end after a minute", v.Raw, took)
		}
	})
}

func TestConnectionEndsWithItsCredentials(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("long", "", func(ctx context.Context, _ struct{}) (string, error) {
			time.Sleep(3 * time.Minute)
			return "done", ctx.Err()
		})
		who := identity("ada")
		who.Expires = time.Now().Add(time.Minute)
		w := dialWith(t, srv, r, who)
		id := w.Send("tools/call", `{"name":"long"}`)
		time.Sleep(2 * time.Minute)
		if got := at(t, w.Reply(id).Result, "/content/0/text"); got != `"done"` {
			t.Errorf("got %s, want the call that ran answered", got)
		}
		if err := <-w.served; err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("got %v, want that the credentials have expired", err)
		}
		w.served <- nil
	})
}

func TestStreamOfASessionEndsWithItsCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := lasting()
		defer func() { _ = srv.Shutdown(context.Background()) }()
		c := callerOf(t, srv, mcp.V20251125, "ada")
		var resume []string
		for range 2 { // the second goes on where the first has ended
			began := time.Now()
			w := c.do(http.MethodGet, "!ada", "", resume...)
			if took := time.Since(began); w.Code != 200 || took != time.Minute {
				t.Fatalf("got %d %s after %v, want the end after a minute", w.Code, w.Body, took)
			}
			resume = []string{"Last-Event-Id", eventID.FindStringSubmatch(w.Body.String())[1]}
		}
		if v := c.call("ada", "ping", ""); v.Result == nil {
			t.Errorf("with new credentials: got %s, want the session there", v.Raw)
		}
	})
}

func TestCallContinuesWhenItsCredentialsExpire(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := lasting()
		defer func() { _ = srv.Shutdown(context.Background()) }()
		c := callerOf(t, srv, r, "ada")
		body, header := c.form("tools/call", `{"name":"long"}`)
		w := httptest.NewRecorder()
		c.h.ServeHTTP(w, c.newRequest(http.MethodPost, "!ada", body, header...))
		if got := at(t, lastMessage(t, w.Body.Bytes()).Result, "/content/0/text"); got != `"done"` {
			t.Errorf("got %s, want the result", w.Body)
		}
	})
}

func TestEventStreamEndsWithItsCredentials(t *testing.T) {
	eachOf(t, revisions[:4], func(t *testing.T, r mcp.Revision) {
		srv := lasting()
		defer func() { _ = srv.Shutdown(context.Background()) }()
		c := streamCallerOf(t, srv, r, "!ada")
		body, _ := c.form("tools/call", `{"name":"long"}`)
		c.post("ada", strings.Replace(body, `"id":7`, `"id":"long"`, 1))
		time.Sleep(59 * time.Second)
		if v := c.call("ada", "ping", ""); v.Result == nil {
			t.Errorf("got %s, want a reply", v.Raw)
		}
		c.post("ada", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		time.Sleep(2 * time.Second)
		if w := c.post("ada", `{"jsonrpc":"2.0","id":7,"method":"ping"}`); w.Code != http.StatusNotFound {
			t.Errorf("after a minute: got %d %s, want 404", w.Code, w.Body)
		}
		srv.Tool("new", "", nothing)
		<-c.done
		if strings.Contains(string(c.out.text()), "list_changed") {
			t.Errorf("got %s, want nothing told after a minute", c.out.text())
		}
		if got := lastMessage(t, c.out.text()); at(t, got.Result, "/content/0/text") != `"done"` {
			t.Errorf("got %s, want the call that ran answered", got.Raw)
		}
	})
}

func TestPostCannotUseScopesOfAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := vault(nil)
		defer func() { _ = srv.Shutdown(context.Background()) }()
		c := streamCallerOf(t, srv, mcp.V20241105, "ada a b")
		if v := c.call("ada", "tools/call", `{"name":"shut"}`); !v.forbids() {
			t.Errorf("got %s, want what the credentials of the message may", v.Raw)
		}
		if v := c.call("ada a b", "tools/call", `{"name":"shut"}`); v.Error != nil {
			t.Errorf("got %s, want a result", v.Raw)
		}
	})
}
