package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// Why a subscription failed on the way to its upstream is for the operator, under an incident id.
func TestFailedSubscriptionDoesNotShowWhy(t *testing.T) {
	t.Parallel()
	srv := librarian("a", nil)
	offer(srv, "notes://a")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"subscriptions/listen"`)) {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		srv.HTTPHandler().ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	g := start(t, host.Upstream{Key: "a", Target: mcpclient.URL(web.URL)})
	c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{mcp.V20251125}})
	for _, err := range c.Watch(t.Context(), "notes://a") {
		if err == nil || !strings.Contains(err.Error(), "HTTP 400 Bad Request: unavailable (incident ") {
			t.Errorf("got %v, want no more than that the upstream is unavailable", err)
		}
		break
	}
}
