package gateway_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Messages of a connection that an anonymous caller has made the host open are not those of the host.
func TestMessagesOfAnUpstreamHaveThePrincipalOfItsCaller(t *testing.T) {
	srv := mcpserver.New("a", "1", &mcpserver.Options{Logger: quiet})
	srv.Tool("greet", "Greets.", func(context.Context, struct{}) (string, error) { return "Hello", nil })
	var mu sync.Mutex
	seen := make(map[mcp.Principal][]byte)
	g := startWith(t, &gateway.Options{Logger: quiet, OnMessage: func(key string) func(mcp.WireMessage) {
		if key == "" {
			return nil
		}
		return func(m mcp.WireMessage) {
			mu.Lock()
			defer mu.Unlock()
			seen[m.Principal] = append(seen[m.Principal], m.Data...)
		}
	}}, host.Upstream{Key: "a", Target: mcpclient.InProcess(srv)})
	anna := &mcp.Identity{Principal: mcp.Principal{Issuer: "https://issuer.example", Subject: "anna"}}
	for _, by := range []*mcp.Identity{anna, nil} {
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			g.Server().HTTPHandler().ServeHTTP(w, r.WithContext(mcp.WithIdentity(r.Context(), by)))
		}))
		t.Cleanup(front.Close)
		c, err := mcpclient.Connect(t.Context(), mcpclient.URL(front.URL), &mcpclient.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := c.CallTool(t.Context(), "a__greet", struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for p, want := range map[mcp.Principal]string{mcp.PrincipalLocal: "tools/list", anna.Principal: "tools/call", mcp.PrincipalAnonymous: "tools/call"} {
		if !bytes.Contains(seen[p], []byte(want)) {
			t.Errorf("%s: got no %s in %s", p, want, seen[p])
		}
	}
	if bytes.Contains(seen[mcp.PrincipalLocal], []byte("tools/call")) {
		t.Errorf("got calls of callers in the messages of the host: %s", seen[mcp.PrincipalLocal])
	}
}
