package mcpserver_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

var sharedKeys = []mcpserver.Key{{ID: "1", Secret: []byte(strings.Repeat("k", 32))}}

// sessionReplica is one of several servers that share keys and nothing else. Its tool says which
// one it is.
func sessionReplica(number int) *mcpserver.Server {
	srv := newServer(&mcpserver.Options{Keys: sharedKeys})
	srv.Tool("where", "", func(ctx context.Context, _ struct{}) (int, error) {
		mcpserver.Progress(ctx, 1, 1, "here")
		mcpserver.Log(ctx).Warn("here")
		return number, nil
	})
	srv.Resource("notes://a", "a", "", fixed(""))
	return srv
}

// balancer sends each request to one of its servers, at random.
type balancer struct {
	servers []*mcpserver.Server
	served  []atomic.Int32
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i := rand.N(len(b.servers))
	b.served[i].Add(1)
	b.servers[i].HTTPHandler().ServeHTTP(w, r)
}

func balance(t *testing.T, n int) (b *balancer, url string) {
	b = &balancer{served: make([]atomic.Int32, n)}
	for i := range n {
		b.servers = append(b.servers, sessionReplica(i))
	}
	web := httptest.NewServer(b)
	t.Cleanup(func() {
		web.Close()
		for _, srv := range b.servers {
			_ = srv.Shutdown(context.Background())
		}
	})
	return b, web.URL
}

func TestSessionsBelongToAllReplicasWithTheKeys(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20250326, mcp.V20250618, mcp.V20251125, mcp.V20260728} {
		t.Run(revision.String(), func(t *testing.T) {
			t.Parallel()
			b, url := balance(t, 3)
			var logs, progress atomic.Int32
			c, err := mcpclient.Connect(t.Context(), mcpclient.URL(url), &mcpclient.Options{Revisions: []mcp.Revision{revision}, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			seen := make(map[int]bool)
			for range 30 {
				at, err := c.Call[int](t.Context(), "where", nil,
					mcpclient.WithProgress(func(mcp.ProgressParams) { progress.Add(1) }),
					mcpclient.WithLog(func(*mcp.LoggingMessageParams) { logs.Add(1) }))
				if err != nil {
					t.Fatal(err)
				}
				seen[at] = true
			}
			for tool, err := range c.Tools(t.Context()) {
				if err != nil || tool.Name != "where" {
					t.Errorf("got %v, %v, want the tool", tool, err)
				}
			}
			if len(seen) != len(b.servers) || progress.Load() != 30 || logs.Load() != 30 {
				t.Errorf("got the replicas %v, %d notifications of progress and %d logs, want all, 30 and 30", seen, progress.Load(), logs.Load())
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRestartStrandsNoSession(t *testing.T) {
	t.Parallel()
	b, url := balance(t, 1)
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL(url), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20250618}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for restart := range 3 {
		if at, err := c.Call[int](t.Context(), "where", nil); err != nil || at != restart {
			t.Fatalf("got replica %d, %v, want %d", at, err, restart)
		}
		old := b.servers[0]
		b.servers = []*mcpserver.Server{sessionReplica(restart + 1)}
		if err := old.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// send sends one message of a session of 2025-11-25 and returns the status and the body.
func send(t *testing.T, srv *mcpserver.Server, session, message string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(message))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	w := httptest.NewRecorder()
	srv.HTTPHandler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestWhatASessionKeepsWorksWhereItWasOpened(t *testing.T) {
	t.Parallel()
	one, two := sessionReplica(1), sessionReplica(2)
	s := openHTTPSession(t, one)
	for name, tt := range map[string]struct {
		message         string
		status          int
		here, elsewhere string
	}{
		"subscribe":   {`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"notes://a"}}`, 200, `"result":{}`, "opened by another replica"},
		"unsubscribe": {`{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"notes://a"}}`, 200, `"result":{}`, "opened by another replica"},
		"log level":   {`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`, 200, `"result":{}`, "opened by another replica"},
	} {
		if status, body := send(t, one, s.id, tt.message); status != tt.status || !strings.Contains(body, tt.here) {
			t.Errorf("%s, where the session was opened: got status %d, body %s, want %d and %s", name, status, body, tt.status, tt.here)
		}
		if status, body := send(t, two, s.id, tt.message); status != tt.status || !strings.Contains(body, tt.elsewhere) {
			t.Errorf("%s, elsewhere: got status %d, body %s, want %d and %s", name, status, body, tt.status, tt.elsewhere)
		}
	}
}

func TestRequestsWithoutASessionGetWhatNeedsNone(t *testing.T) {
	t.Parallel()
	srv := sessionReplica(1)
	for name, tt := range map[string]struct {
		message string
		status  int
		want    string
	}{
		"list":      {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 200, `"where"`},
		"call":      {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"where"}}`, 200, `"1"`},
		"subscribe": {`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"notes://a"}}`, 400, "no session: send initialize first"},
		"log level": {`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`, 400, "no session: send initialize first"},
	} {
		if status, body := send(t, srv, "", tt.message); status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s: got status %d, body %s, want %d and %s", name, status, body, tt.status, tt.want)
		}
	}
}

func TestRevisionOfARequestWithoutASessionIsThatOfItsHeader(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-123", "R-141a")
	srv := newServer(nil)
	srv.Tool("where", "", func(context.Context, struct{}) (int, error) { return 1, nil }, mcpserver.Title("Where"))
	for version, titles := range map[string]bool{"": false, "2025-03-26": false, "2025-06-18": true} { // titles came with 2025-06-18
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if version != "" {
			r.Header.Set("Mcp-Protocol-Version", version)
		}
		w := httptest.NewRecorder()
		srv.HTTPHandler().ServeHTTP(w, r)
		if got := strings.Contains(w.Body.String(), `"title":"Where"`); w.Code != http.StatusOK || got != titles {
			t.Errorf("header %q: got status %d, body %s, want a title: %v", version, w.Code, w.Body, titles)
		}
	}
}

// The client of one replica must not answer a question of another one by the same id.
func TestReplicasAskWithDifferentIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ids := make(map[string]bool)
		for i := range 5 {
			srv := sessionReplica(i)
			defer srv.Shutdown(t.Context())
			srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
				ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
				defer cancel()
				var roots []mcp.Root
				return "", mcpserver.AskAll(ctx, mcpserver.ListRoots("roots", &roots))
			})
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{"roots":{}}}}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			srv.HTTPHandler().ServeHTTP(w, r)
			_, body := send(t, srv, w.Header().Get("Mcp-Session-Id"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`)
			var id string
			if _, rest, ok := strings.Cut(body, `"id":`); ok {
				id, _, _ = strings.Cut(rest, ",")
			}
			if !strings.Contains(body, "roots/list") || ids[id] {
				t.Errorf("got %s, want a question with an id that none of %v has", body, ids)
			}
			ids[id] = true
		}
	})
}

func TestKeysAreReadFromText(t *testing.T) {
	t.Parallel()
	const one, two = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "HwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	keys, err := mcpserver.ParseKeys(one + ", " + two)
	if err != nil || len(keys) != 2 || keys[0].Secret[31] != 31 || keys[0].ID == keys[1].ID {
		t.Errorf("got %v, %v, want two keys", keys, err)
	}
	for _, text := range []string{"", one[:20], one + ",", "not base64 at all, " + one, one + " " + two, one + "," + two + "," + one} {
		if _, err := mcpserver.ParseKeys(text); err == nil || strings.Contains(err.Error(), one[:8]) {
			t.Errorf("%q: got error %v, want one without the secret", text, err)
		}
	}
	if text := fmt.Sprintf("%v %+v", keys, keys[0]); strings.Contains(text, "\\x01") || !strings.Contains(text, keys[0].ID) {
		t.Errorf("got %s, want ids only", text)
	}
}
