package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
)

func TestReachedLimitOfTheServerIsPassedOn(t *testing.T) {
	t.Parallel()
	reached := make(chan mcp.Limit, 1)
	g := startWith(t, &gateway.Options{OnLimit: func(key string, l mcp.LimitReached) {
		if key == "" {
			reached <- l.Limit
		}
	}})
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", strings.NewReader(strings.Repeat(" ", 5<<20)))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	g.Server().HTTPHandler().ServeHTTP(w, r)
	if l := <-reached; l != mcp.LimitMessageBytes || w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("got the limit %s and status %d, want %s and 413", l, w.Code, mcp.LimitMessageBytes)
	}
}
