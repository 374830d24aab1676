package mcpware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpware"
)

func TestReplicasShareTheRateOfRateLimit(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		store := new(mcpserver.MemoryStore)
		var replicas []*mcpserver.Server
		for range 3 {
			s := mcpserver.New("s", "1", &mcpserver.Options{
				Logger: quiet, Store: store, Load: &mcpserver.LoadOptions{SharedRates: true},
				Keys: []mcpserver.Key{{ID: "1", Secret: []byte(strings.Repeat("k", 32))}},
			})
			s.Tool("tool", "A tool", func(context.Context, number) (string, error) { return "ok", nil })
			s.Use(mcpware.RateLimit(mcp.Rate{PerSecond: 40}, mcp.MethodToolsList))
			t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
			replicas = append(replicas, s)
		}
		time.Sleep(10 * time.Second)
		admitted := 0
		for at := range 2000 {
			if list(replicas[at%3]).Code == http.StatusOK {
				admitted++
			}
			time.Sleep(5 * time.Millisecond)
		}
		if admitted < 400 || admitted > 480 {
			t.Errorf("%d requests in 10 s, want 440", admitted)
		}
	})
}

// list sends tools/list of an authenticated principal.
func list(s *mcpserver.Server) *httptest.ResponseRecorder {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	who := &mcp.Identity{Principal: mcp.Principal{Issuer: "i", Subject: "ann"}}
	r := httptest.NewRequest("POST", "http://localhost/", strings.NewReader(body))
	r = r.WithContext(mcp.WithIdentity(r.Context(), who))
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {mcp.MethodToolsList},
	}
	w := httptest.NewRecorder()
	s.HTTPHandler().ServeHTTP(w, r)
	return w
}
