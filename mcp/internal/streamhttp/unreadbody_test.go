package streamhttp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// deadlineRecorder records the read deadline of a response.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (r *deadlineRecorder) SetReadDeadline(t time.Time) error {
	r.deadline = t
	return nil
}

// A connection whose request is refused does not wait for the body, and is kept if there is none
// or it was read.
func TestRefusedRequestEndsItsConnectionUnlessItsBodyWasRead(t *testing.T) {
	t.Parallel()
	h := NewHandler(newTestCore(nil), nil)
	defer h.Close()
	events := NewSSEHandler(newTestCore(nil), nil)
	defer events.Close()
	ready := NewReadiness(func() bool { return true }, nil)
	stopped := NewHandler(newTestCore(nil), nil)
	stopped.Close()
	admit := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { NewHostCheck().Admit(w, r) })
	many := make([]string, 0, 2*maxHeaderFields+2)
	for range maxHeaderFields + 1 {
		many = append(many, "X-Any", "x")
	}
	for name, tt := range map[string]struct {
		handler http.Handler
		method  string
		url     string
		body    string
		header  []string
		status  int
		closes  bool
	}{
		"host":                       {h, "POST", "http://evil.example/", ping, nil, 403, true},
		"host of an event stream":    {events, "POST", "http://evil.example/", ping, nil, 403, true},
		"host in front of a handler": {admit, "POST", "http://evil.example/", ping, nil, 403, true},
		"header fields":              {LimitHeaders(h), "POST", "http://localhost/", ping, many, 431, true},
		"readiness":                  {ready, "POST", "http://localhost/", ping, nil, 405, true},
		"method":                     {h, "PUT", "http://localhost/", ping, nil, 405, true},
		"method without a body":      {h, "PUT", "http://localhost/", "", nil, 405, false},
		"media type":                 {h, "POST", "http://localhost/", ping, []string{httpheader.ContentType, "text/plain"}, 415, true},
		"shut down":                  {stopped, "POST", "http://localhost/", ping, nil, 503, true},
		"no session":                 {h, "POST", "http://localhost/", ping, []string{httpheader.SessionID, "unknown"}, 404, false},
		"no connection":              {events, "POST", "http://localhost/?sessionId=x", ping, nil, 404, false},
	} {
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, loopback4)
		r := request(ctx, t, tt.method, tt.url, tt.body, tt.header...)
		w := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder()}
		tt.handler.ServeHTTP(w, r)
		closes := w.Header().Get(httpheader.Connection) == "close" && !w.deadline.IsZero()
		if w.Code != tt.status || closes != tt.closes {
			t.Errorf("%s: got status %d, closes: %v, want %d, %v; %s", name, w.Code, closes, tt.status, tt.closes, strings.TrimSpace(w.Body.String()))
		}
	}
}
