package gateway_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// sessionServer is a server of 2025-11-25 over HTTP with one tool, written by hand. It
// refuses requests of sessions that it does not know with 400, as server-everything does.
type sessionServer struct {
	*httptest.Server

	mu       sync.Mutex
	opened   int                       // guarded by mu: sessions
	sessions map[string]bool           // guarded by mu: those that it knows
	call     func(http.ResponseWriter) // guarded by mu: handles tools/call, or nil
}

func serveSessions(t *testing.T) *sessionServer {
	t.Helper()
	s := &sessionServer{sessions: make(map[string]bool)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// restart forgets all sessions.
func (s *sessionServer) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// handleCalls sets what handles tools/call; nil answers it.
func (s *sessionServer) handleCalls(call func(http.ResponseWriter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.call = call
}

func (s *sessionServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
	}
	if r.Method != http.MethodPost || json.UnmarshalRead(r.Body, &m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	s.mu.Lock()
	call, known := s.call, s.sessions[r.Header.Get("Mcp-Session-Id")]
	if m.Method == mcp.MethodInitialize {
		s.opened++
		id := fmt.Sprintf("s%d", s.opened)
		s.sessions[id] = true
		w.Header().Set("Mcp-Session-Id", id)
		known = true
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	result := `{}`
	switch {
	case !known:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case m.Method == mcp.MethodToolsCall && call != nil:
		call(w)
		return
	case m.Method == mcp.MethodInitialize:
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
	case m.Method == mcp.MethodToolsList:
		result = `{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}`
	case m.Method == mcp.MethodToolsCall:
		result = `{"content":[{"type":"text","text":"gone"}]}`
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// openWithStatus starts a gateway to one upstream and connects a client to it. The channel
// gets each status that was reported.
func openWithStatus(t *testing.T, u host.Upstream) (*gateway.Gateway, *mcpclient.Client, <-chan host.Status) {
	t.Helper()
	statuses := make(chan host.Status, 64)
	g := gateway.New([]host.Upstream{u}, &gateway.Options{Logger: quiet, OnStatus: func(s host.Status) { statuses <- s }})
	t.Cleanup(g.Close)
	g.Start(t.Context())
	return g, mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet}), statuses
}

// awaitStatus waits for a status that fits.
func awaitStatus(t *testing.T, statuses <-chan host.Status, what string, fits func(host.Status) bool) host.Status {
	t.Helper()
	timeout := time.After(testTimeout)
	for {
		select {
		case s := <-statuses:
			if fits(s) {
				return s
			}
		case <-timeout:
			t.Fatalf("no status %s", what)
		}
	}
}

func TestLostSessionOfAnUpstreamIsOpenedAgainAndReported(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-120")
	for name, share := range map[string]bool{"shared": true, "of a caller": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveSessions(t)
			g, c, statuses := openWithStatus(t, host.Upstream{Key: "d", Target: mcpclient.URL(s.URL), Settings: host.Settings{Share: share}})
			for range 2 {
				if got, err := c.Call[string](t.Context(), "d__go", nil); err != nil || got != "gone" {
					t.Fatalf("got %q, %v", got, err)
				}
			}
			if got := g.Status()[0]; got.SessionsLost != 0 {
				t.Errorf("got %+v, want no lost session", got)
			}
			restarted := time.Now()
			s.restart()
			if got, err := c.Call[string](t.Context(), "d__go", nil); err != nil || got != "gone" {
				t.Errorf("got %q, %v, want the call sent again", got, err)
			}
			status := awaitStatus(t, statuses, "with a lost session", func(s host.Status) bool { return s.SessionsLost > 0 })
			if status.State != host.Ready || status.SessionsLost != 1 || status.SessionLost.Before(restarted) || status.SessionLost.After(time.Now()) {
				t.Errorf("got %+v, want it ready, with one loss and its time", status)
			}
		})
	}
}

func TestUpstreamWhoseCallsAllFailIsFailingUntilOneSucceeds(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]struct {
		answer func(http.ResponseWriter)
		reason string
	}{
		"a status":        {func(w http.ResponseWriter) { http.Error(w, "", http.StatusBadGateway) }, "502"},
		"no message":      {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "oops") }, "invalid response"},
		"an ended stream": {func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }, "connection lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveSessions(t)
			g, c, statuses := openWithStatus(t, host.Upstream{Key: "d", Target: mcpclient.URL(s.URL)})
			s.handleCalls(fail.answer)
			for i := range 3 {
				if status := g.Status()[0]; status.State != host.Ready {
					t.Errorf("after %d calls: got %+v, want it ready", i, status)
				}
				result, err := c.CallTool(t.Context(), "d__go", nil)
				if err != nil || !result.IsError || !strings.Contains(result.Content.Text(), fail.reason) {
					t.Errorf("got %+v, %v, want a failure because of %s", result, err, fail.reason)
				}
			}
			status := awaitStatus(t, statuses, "failing", func(s host.Status) bool { return s.State == host.Failing })
			if status.Reason == "" || status.Tools != 1 {
				t.Errorf("got %+v, want the reason, and the tool still listed", status)
			}
			s.handleCalls(nil)
			if got, err := c.Call[string](t.Context(), "d__go", nil); err != nil || got != "gone" {
				t.Errorf("got %q, %v, want the call sent to a server that was failing", got, err)
			}
			if got := awaitStatus(t, statuses, "ready", func(s host.Status) bool { return s.State == host.Ready }); got.Reason != "" {
				t.Errorf("got %+v, want no reason", got)
			}
		})
	}
}

// A client over HTTP has no connection that it could lose.
func TestUpstreamThatIsNotRunningIsFailing(t *testing.T) {
	t.Parallel()
	s := serveSessions(t)
	_, c, statuses := openWithStatus(t, host.Upstream{Key: "d", Target: mcpclient.URL(s.URL)})
	if got, err := c.Call[string](t.Context(), "d__go", nil); err != nil || got != "gone" {
		t.Fatalf("got %q, %v", got, err)
	}
	s.Close()
	for range 3 {
		if result, err := c.CallTool(t.Context(), "d__go", nil); err == nil && !result.IsError {
			t.Errorf("got %+v, want a failure", result)
		}
	}
	status := awaitStatus(t, statuses, "failing", func(s host.Status) bool { return s.State == host.Failing })
	if !strings.Contains(status.Reason, "dial tcp") {
		t.Errorf("got the reason %q, want the connection refused", status.Reason)
	}
}

// What is wrong with a request says nothing about the server.
func TestCallsThatTheUpstreamRefusesDoNotMakeItFailing(t *testing.T) {
	t.Parallel()
	s := serveSessions(t)
	g, c, _ := openWithStatus(t, host.Upstream{Key: "d", Target: mcpclient.URL(s.URL)})
	s.handleCalls(func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no such tool"}}`)
	})
	for range 5 {
		if _, err := c.CallTool(t.Context(), "d__go", nil); mcp.CodeOf(err) != mcp.CodeInvalidParams {
			t.Errorf("got %v, want the answer of the upstream", err)
		}
	}
	if status := g.Status()[0]; status.State != host.Ready {
		t.Errorf("got %+v, want it ready", status)
	}
}
