package wire_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/wire"
)

// session is the header of sessions, as far as the monitor needs to know.
const session = "Mcp-Session-Id"

// A session goes over many requests, in JSON and in events, and every message of
// it is checked once, also one that was sent again.
func TestSessionOverHTTPIsOneConversation(t *testing.T) {
	t.Parallel()
	const (
		asks   = `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`
		result = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"x"}]}}`
	)
	var faults []string
	m := &wire.Monitor{Report: func(err error) { faults = append(faults, err.Error()) }}
	h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "initialize"):
			w.Header().Set(session, "s")
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.TrimPrefix(initialized, "<- "))
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "id: 7\ndata: "+asks+"\n\n")
		case strings.Contains(string(body), "tools/list"):
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: "+result[:17]+"\ndata: "+result[17:]+"\n\n")
		}
	}), session)
	for _, r := range []*http.Request{
		httptest.NewRequest("POST", "/", strings.NewReader(strings.TrimPrefix(initialize, "-> "))),
		httptest.NewRequest("GET", "/", nil),
		httptest.NewRequest("GET", "/", nil), // resumes
		httptest.NewRequest("POST", "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`)),
		httptest.NewRequest("POST", "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)),
	} {
		r.Header.Set(session, "s")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	if got, want := m.Checked(), int64(6); got != want {
		t.Errorf("got %d messages, want %d", got, want)
	}
	if len(faults) != 1 || !strings.Contains(faults[0], `missing "inputSchema"`) {
		t.Errorf("got %q, want the tool without its schema", faults)
	}
}

// What was refused for want of credentials comes again as it was. Without a refusal
// that is a second request with an id in use.
func TestRefusedMessageMayBeSentAgain(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for status, want := range map[int]int{http.StatusUnauthorized: 0, http.StatusForbidden: 0, http.StatusBadGateway: 1} {
		var faults []string
		m := &wire.Monitor{Report: func(err error) { faults = append(faults, err.Error()) }}
		h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), "initialize") {
				w.Header().Set(session, "s")
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, strings.TrimPrefix(initialized, "<- "))
				return
			}
			w.WriteHeader(status)
		}), session)
		for _, body := range []string{strings.TrimPrefix(initialize, "-> "), call, call} {
			r := httptest.NewRequest("POST", "/", strings.NewReader(body))
			r.Header.Set(session, "s")
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		if len(faults) != want {
			t.Errorf("HTTP %d: got %q, want %d faults", status, faults, want)
		}
	}
}
