package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpext/handles"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// sender sends messages from an address, without a network.
type sender struct {
	t       *testing.T
	handler http.Handler
	address string
	session string
}

// send sends a message in the session, or opens one, and returns status and body of the
// answer.
func (s *sender) send(ctx context.Context, method, message string) (int, string) {
	r := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1/mcp", strings.NewReader(message))
	r.RemoteAddr = s.address
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if s.session != "" {
		r.Header.Set("Mcp-Session-Id", s.session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if id := w.Header().Get("Mcp-Session-Id"); id != "" {
		s.session = id
	}
	return w.Code, w.Body.String()
}

// open opens a session and reports whether there was room.
func (s *sender) open() bool {
	s.session = ""
	s.send(s.t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`)
	return s.session != ""
}

// call calls a tool, as a task if more says so.
func (s *sender) call(id int, tool, more string) (int, string) {
	return s.send(s.t.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}%s}}`, id, tool, more))
}

// listen opens an event stream and returns what says that it has ended.
func (s *sender) listen(ctx context.Context) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.send(ctx, http.MethodGet, "")
	}()
	return over
}

// room is how much there is of each thing in the test below.
const room = 6

// One anonymous client opens all the sessions it can and takes all it can get of one
// thing. Another one, from another address or over another session of this machine,
// gets some all the same. Each row is a table of the server.
func TestOneAnonymousClientKeepsNobodyOut(t *testing.T) {
	claim.Shows(t, "B-11")
	ok := func(t *testing.T, status int, body string) {
		t.Helper()
		if status != http.StatusOK || strings.Contains(body, `"isError":true`) || strings.Contains(body, `"error":{`) {
			t.Errorf("the modest client: got status %d, %s, want it served", status, body)
		}
	}
	asTask := `,"task":{"ttl":600000}`
	for _, tt := range []struct {
		table  string
		greedy func(s *sender, i int) // takes more, in a session of its own
		modest func(t *testing.T, s *sender)
	}{
		{"sessions", func(*sender, int) {}, func(t *testing.T, s *sender) {
			for i := range 3 {
				status, body := s.call(i, "hello", "")
				ok(t, status, body)
			}
		}},
		{"streams", func(s *sender, _ int) { s.listen(s.t.Context()) }, func(t *testing.T, s *sender) {
			over := s.listen(t.Context())
			synctest.Wait()
			select {
			case <-over:
				t.Error("the stream of the modest client has ended, want it open")
			default:
			}
		}},
		{"calls", func(s *sender, i int) { go s.call(i, "wait", "") }, func(t *testing.T, s *sender) {
			status, body := s.call(1, "hello", "")
			ok(t, status, body)
		}},
		{"handles", func(s *sender, i int) { s.call(i, "keep", "") }, func(t *testing.T, s *sender) {
			status, body := s.call(1, "keep", "")
			ok(t, status, body)
		}},
		{"tasks", func(s *sender, i int) { s.call(i, "work", asTask) }, func(t *testing.T, s *sender) {
			status, body := s.call(1, "work", asTask)
			ok(t, status, body)
		}},
	} {
		for _, from := range []struct{ name, greedy, modest string }{
			{"another address", "192.0.2.1:1", "192.0.2.2:1"},
			{"another session of this machine", "127.0.0.1:1", "127.0.0.1:2"},
		} {
			for _, each := range []int{1, 2 * room} {
				t.Run(fmt.Sprintf("%s/%s/%d in each session", tt.table, from.name, each), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						h := crowdable(t, tt.table).HTTPHandler()
						for range 2 * room {
							s := &sender{t: t, handler: h, address: from.greedy}
							if !s.open() {
								continue
							}
							for i := range each {
								tt.greedy(s, i)
								synctest.Wait()
							}
						}
						time.Sleep(time.Minute)
						modest := &sender{t: t, handler: h, address: from.modest}
						if !modest.open() {
							t.Fatal("the modest client gets no session")
						}
						tt.modest(t, modest)
					})
				})
			}
		}
	}
}

// crowdable returns a server with little room for the things of one table.
func crowdable(t *testing.T, table string) *mcpserver.Server {
	o := &mcpserver.Options{HTTP: new(mcpserver.HTTPOptions), Load: new(mcpserver.LoadOptions)}
	keeping, work := new(handles.Options), new(tasks.Options)
	switch table {
	case "sessions":
		o.HTTP.MaxSessions = room
	case "streams":
		o.HTTP.MaxStreams = room
	case "calls":
		o.Load.MaxCalls = room
	case "handles":
		keeping.Max = room
	case "tasks":
		work.MaxTasks = room
	}
	s := mcpserver.New("crowdable", "1", o)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ctx)
	})
	kept := handles.New[string](keeping)
	all := tasks.Enable(s, work)
	s.Tool("hello", "", func(context.Context, struct{}) (string, error) { return "hello", nil })
	s.Tool("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	s.Tool("keep", "", func(ctx context.Context, _ struct{}) (string, error) { return kept.New(ctx, "value") })
	s.Tool("work", "", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	}, all.AsTask())
	return s
}
