package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// webSession is a session over HTTP, whose client has a stream only while it listens.
type webSession struct {
	handler http.Handler
	id      string
}

// send sends a request in the session.
func (s *webSession) send(ctx context.Context, method, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	if s.id != "" {
		r.Header.Set("Mcp-Session-Id", s.id)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

func openWebSession(t *testing.T, h http.Handler) *webSession {
	s := &webSession{handler: h}
	s.id = s.send(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`).Header().Get("Mcp-Session-Id")
	s.send(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

// write adds a word to the diary that the server keeps for the connection, and returns the answer.
func (s *webSession) write(t *testing.T) string {
	return s.send(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"d__write","arguments":{"word":"x"}}}`).Body.String()
}

// A client that has a stream keeps its process, however long it has not called, before those whose clients have
// neither a stream nor a request.
func TestProcessesOfAbsentClientsGoFirst(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		f := &sessionTarget{revision: mcp.V20251125, make: hangingDiary}
		h := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)}).Server().HTTPHandler()
		var all []*webSession
		for i := range 256 {
			s := openWebSession(t, h)
			all = append(all, s)
			if got := s.write(t); !strings.Contains(got, `"text":"x"`) {
				t.Fatalf("session %d: got %s", i, got)
			}
			time.Sleep(time.Second)
		}
		ctx, leave := context.WithCancel(t.Context())
		listening := make(chan struct{})
		go func() {
			defer close(listening)
			all[0].send(ctx, http.MethodGet, "")
		}()
		time.Sleep(3 * time.Minute)
		for i := range 3 {
			if got := openWebSession(t, h).write(t); !strings.Contains(got, `"text":"x"`) {
				t.Errorf("newcomer %d: got %s, want it served", i, got)
			}
		}
		for i, want := range map[int]string{0: "x x", 4: "x x"} {
			if got := all[i].write(t); !strings.Contains(got, fmt.Sprintf(`"text":%q`, want)) {
				t.Errorf("session %d: got %s, want its connection kept", i, got)
			}
		}
		if got := all[1].write(t); !strings.Contains(got, `"text":"x"`) {
			t.Errorf("got %s, want the connection closed of the client that has been absent longest", got)
		}
		leave()
		<-listening
	})
}
