package traffic_test

import (
	"context"
	"encoding/json/jsontext"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type seat struct {
	Row int `json:"row"`
}

// A Recorder is passed the messages of a server and of its client, as a host is.
func TestMessagesOfBothHopsArePaired(t *testing.T) {
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for transport, serve := range map[string]func(*mcpserver.Server) mcpclient.Target{
			"memory": func(srv *mcpserver.Server) mcpclient.Target { return mcpclient.InProcess(srv) },
			"http": func(srv *mcpserver.Server) mcpclient.Target {
				anna := &mcp.Identity{Principal: mcp.Principal{Issuer: "https://issuer.example", Subject: "anna"}}
				ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					srv.HTTPHandler().ServeHTTP(w, r.WithContext(mcp.WithIdentity(r.Context(), anna)))
				}))
				t.Cleanup(ts.Close)
				return mcpclient.URL(ts.URL)
			},
		} {
			t.Run(revision.String()+" over "+transport, func(t *testing.T) {
				r := traffic.New()
				srv := mcpserver.New("airline", "1.0.0", &mcpserver.Options{
					OnMessage: func(m mcp.WireMessage) { r.Record("", m) }, Revisions: []mcp.Revision{revision},
				})
				srv.Tool("book", "Books a flight", func(ctx context.Context, _ struct{}) (string, error) {
					_, err := mcpserver.Ask[seat](ctx, "seat", "Which seat?")
					return "booked", err
				})
				c, err := mcpclient.Connect(t.Context(), serve(srv), &mcpclient.Options{
					Info:      mcp.Implementation{Name: "ide", Version: "1"},
					OnMessage: func(m mcp.WireMessage) { r.Record("airline", m) },
					ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"row":4}`)}, nil
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				if got, err := c.Call[string](t.Context(), "book", struct{}{}); err != nil || got != "booked" {
					t.Fatalf("got %q, %v", got, err)
				}
				_ = c.Close()
				if err := srv.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				checkHops(t, r.Messages(), transport)
			})
		}
	}
}

func checkHops(t *testing.T, messages []traffic.Message, transport string) {
	t.Helper()
	principal := map[string]string{"memory": "local", "http": "anna"}[transport]
	calls := make(map[string]map[uint64]bool) // of the tool, by hop
	answered := make(map[string]bool)
	for _, m := range messages {
		if m.Upstream == "" && m.Principal != principal {
			t.Errorf("got principal %q, want %q: %+v", m.Principal, principal, m)
		}
		if m.Client != "ide" && m.Kind != traffic.HTTP {
			t.Errorf("got client %q: %+v", m.Client, m)
		}
		if (m.Kind == traffic.Result || m.Kind == traffic.Error) && (m.Request == 0 || m.Method == "") {
			t.Errorf("got an answer without its request: %+v", m)
		}
		if m.Name == "book" || m.Method == mcp.MethodElicit {
			if calls[m.Upstream] == nil {
				calls[m.Upstream] = make(map[uint64]bool)
			}
			calls[m.Upstream][m.Call] = true
			answered[m.Upstream] = answered[m.Upstream] || m.Name == "book" && m.Kind == traffic.Result && !m.Asks
		}
	}
	for _, hop := range []string{"", "airline"} {
		if len(calls[hop]) != 1 || calls[hop][0] || !answered[hop] {
			t.Errorf("hop %q: got the calls %v, answered %t, want one call with its question", hop, calls[hop], answered[hop])
		}
	}
}
