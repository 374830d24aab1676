package streamhttp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// withFields returns a GET with a number of header fields: one in the first half of the names,
// the others under one name.
func withFields(n int) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "http://localhost/", nil)
	for i := range n {
		name := "X-Repeated"
		if i < n/2 {
			name = fmt.Sprint("X-Field-", i)
		}
		r.Header.Add(name, "1")
	}
	return r
}

// S-037: more than 100 fields; their bytes are limited by mcpserver.
func TestRequestsWithTooManyHeaderFieldsAreRefused(t *testing.T) {
	t.Parallel()
	core := newTestCore(plainTools)
	endpoint, events := NewHandler(core, nil), NewSSEHandler(core, nil)
	defer endpoint.Close()
	defer events.Close()
	check := NewHostCheck()
	for name, h := range map[string]http.Handler{
		"Streamable HTTP": endpoint,
		"HTTP+SSE":        events,
		"readiness":       NewReadiness(func() bool { return true }, nil),
		"host check": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			check.Admit(w, r)
		}),
		"other routes": LimitHeaders(http.NotFoundHandler()),
	} {
		for n, refused := range map[int]bool{100: false, 101: true, 2000: true} {
			r := withFields(n)
			r.Method = http.MethodPut // which is answered at once
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if got := w.Code == http.StatusRequestHeaderFieldsTooLarge; got != refused {
				t.Errorf("%s, %d fields: got status %d, refused %v, want %v", name, n, w.Code, got, refused)
			}
		}
	}
}
