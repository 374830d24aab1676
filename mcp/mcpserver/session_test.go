package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestRequestsOfOneSessionShareIt(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		var seen []*mcpserver.Session
		srv.Tool("look", "Look", func(ctx context.Context, _ struct{}) (string, error) {
			seen = append(seen, mcpserver.From(ctx).Session())
			return "", nil
		})
		one, two := dial(t, srv, r), dial(t, srv, r)
		for _, w := range []*wire{one, one, two} {
			w.Must("tools/call", `{"name":"look"}`)
		}
		if r == mcp.V20260728 {
			if seen[0] != nil || seen[2] != nil {
				t.Errorf("got %v, want no session in the stateless era", seen)
			}
			return
		}
		if seen[0] != seen[1] || seen[0] == seen[2] || seen[0].Context().Err() != nil {
			t.Errorf("got %v, want one for each session", seen)
		}
		if seen[0].ID() == "" || seen[0].ID() != seen[1].ID() || seen[0].ID() == seen[2].ID() {
			t.Errorf("got the ids %q, %q, want one for each session", seen[0].ID(), seen[2].ID())
		}
		_ = one.Conn.Close()
		select {
		case <-seen[0].Context().Done():
		case <-time.After(time.Second):
			t.Error("the context has not ended with its session")
		}
		if seen[2].Context().Err() != nil {
			t.Error("the other session has ended too")
		}
	})
}

// visits is what a handler keeps for a session.
type visits struct{ count atomic.Int32 }

func TestSessionKeepsOneValueOfEachType(t *testing.T) {
	type other visits
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("visit", "Counts the calls of a session", func(ctx context.Context, _ struct{}) (string, error) {
			s := mcpserver.From(ctx).Session()
			var first sync.WaitGroup
			for range 10 {
				first.Go(func() { s.Value[visits]().count.Add(1) })
			}
			first.Wait()
			return fmt.Sprint(s.Value[visits]().count.Load(), s.Value[other]().count.Load()), nil
		})
		one, two := dial(t, srv, r), dial(t, srv, r)
		want := []string{"10 0", "20 0", "10 0"}
		if r == mcp.V20260728 {
			want = []string{"0 0", "0 0", "0 0"} // nothing is kept
		}
		for i, w := range []*wire{one, one, two} {
			if got := w.Must("tools/call", `{"name":"visit"}`); !strings.Contains(string(got), want[i]) {
				t.Errorf("call %d: got %s, want %s", i, got, want[i])
			}
		}
	})
}

func TestNilSessionKeepsNothing(t *testing.T) {
	s := mcpserver.From(t.Context()).Session()
	if s != nil || s.ID() != "" || s.LogValue().String() != "" {
		t.Errorf("got %v with the id %q, want nil without an id", s, s.ID())
	}
	if s.Context().Err() == nil {
		t.Error("the context of a nil Session has not ended")
	}
	if got := s.AbsentFor(); got != 0 {
		t.Errorf("got a client of a nil Session that is absent for %v", got)
	}
	s.Value[visits]().count.Add(1)
	if got := s.Value[visits]().count.Load(); got != 0 {
		t.Errorf("got a value with %d visits, want a new one", got)
	}
}

// httpSession is a session of Streamable HTTP in which a tool can be called.
type httpSession struct {
	t       *testing.T
	handler http.Handler
	id      string // the secret of the client
}

func openHTTPSession(t *testing.T, srv *mcpserver.Server) *httpSession {
	t.Helper()
	h := srv.HTTPHandler()
	header := inProcess(t, h, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
		`"clientInfo":{"name":"client","version":"1"},"capabilities":{}}}`)
	return &httpSession{t, h, header.Get("Mcp-Session-Id")}
}

func (s *httpSession) call(tool string) {
	inProcess(s.t, s.handler, s.id, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`"}}`)
}

// end deletes the session of an id, and returns the status of the reply.
func (s *httpSession) end(id string) int {
	r := httptest.NewRequest(http.MethodDelete, "http://127.0.0.1/mcp", nil)
	r.Header.Set("Mcp-Session-Id", id)
	r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Code
}

func TestClientIsAbsentBetweenItsRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(nil)
		var session *mcpserver.Session
		srv.Tool("stay", "Stay", func(ctx context.Context, _ struct{}) (string, error) {
			session = mcpserver.From(ctx).Session()
			time.Sleep(time.Minute)
			if got := session.AbsentFor(); got != 0 {
				t.Errorf("got %v during a request, want 0", got)
			}
			return "", nil
		})
		c := openHTTPSession(t, srv)
		c.call("stay")
		time.Sleep(time.Hour / 4)
		if got := session.AbsentFor(); got != time.Hour/4 {
			t.Errorf("got %v, want the time since the request", got)
		}
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSessionIDIsNotTheSecretOfTheClient(t *testing.T) {
	var seen *mcpserver.Session
	log := new(logbook)
	srv := newServer(nil)
	srv.Tool("look", "Look", func(ctx context.Context, _ struct{}) (string, error) {
		seen = mcpserver.From(ctx).Session()
		textLog(log).Info("called", "session", seen)
		return "", nil
	})
	s := openHTTPSession(t, srv)
	s.call("look")
	if seen.ID() == "" || strings.Contains(s.id, seen.ID()) || strings.Contains(seen.ID(), s.id) {
		t.Errorf("got the id %q for the transport's %q, want one that does not reveal it", seen.ID(), s.id)
	}
	if !strings.Contains(log.String(), "session="+seen.ID()+"\n") {
		t.Errorf("got the log %s, want it to show the session's id alone", log)
	}
	if status := s.end(seen.ID()); status != http.StatusNotFound || seen.Context().Err() != nil {
		t.Errorf("got status %d for the id in place of the transport's, want 404", status)
	}
}

// A call of Streamable HTTP can outlive its session.
func TestSessionThatHasEndedStaysTheSame(t *testing.T) {
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprintf("used before it ended %v", known), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := newServer(nil)
				var before, after, again *mcpserver.Session
				resume := make(chan struct{})
				srv.Tool("look", "Look", func(ctx context.Context, _ struct{}) (string, error) {
					r := mcpserver.From(ctx)
					if known {
						before = r.Session()
					}
					<-resume
					after, again = r.Session(), r.Session()
					return "", nil
				})
				s := openHTTPSession(t, srv)
				var calls sync.WaitGroup
				calls.Go(func() { s.call("look") })
				synctest.Wait()
				if status := s.end(s.id); status >= 300 {
					t.Fatalf("DELETE: got status %d", status)
				}
				synctest.Wait()
				close(resume)
				calls.Wait()
				synctest.Wait() // the session ends with the use of its last call, which is after the response
				if known && before != after || after != again {
					t.Errorf("got %p, %p and %p, want one session", before, after, again)
				}
				if after.Context().Err() == nil {
					t.Error("the context has not ended with its session")
				}
			})
		})
	}
}

func TestValueIsFreedWithItsSession(t *testing.T) {
	type big struct{ _ [1 << 16]byte }
	srv := newServer(nil)
	var value weak.Pointer[big]
	ended := make(chan struct{})
	srv.Tool("keep", "Keep", func(ctx context.Context, _ struct{}) (string, error) {
		s := mcpserver.From(ctx).Session()
		value = weak.Make(s.Value[big]())
		context.AfterFunc(s.Context(), func() { close(ended) })
		return "", nil
	})
	s := openHTTPSession(t, srv)
	s.call("keep")
	runtime.GC()
	if value.Value() == nil {
		t.Fatal("the value was freed while its session is open")
	}
	if status := s.end(s.id); status >= 300 {
		t.Fatalf("DELETE: got status %d", status)
	}
	<-ended
	for range 10 {
		runtime.GC()
		if value.Value() == nil {
			return
		}
	}
	t.Error("the value is kept after its session has ended")
}

func TestUpdateForOneSubscriberReachesNoOther(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := notes()
		var requests []*mcpserver.Request
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				if r.Method() == mcp.MethodListen || r.Method() == mcp.MethodResourcesSubscribe {
					requests = append(requests, r)
				}
				return next(ctx, r)
			}
		})
		one, two := dial(t, srv, r), dial(t, srv, r)
		watch(one, "notes://a")
		watch(two, "notes://a")
		requests[1].Updated("notes://b")
		requests[1].Updated("notes://a")
		if got := two.updates(1); got != "notes://a" {
			t.Errorf("got %s, want what is watched", got)
		}
		one.Quiet()
		two.Quiet()
	})
}

// inProcess has a handler take a message of the session era, and returns the header of
// its answer.
func inProcess(t *testing.T, h http.Handler, session, message string) http.Header {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(message))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code >= 300 {
		t.Fatalf("%s: got status %d, %s", message, w.Code, w.Body)
	}
	return w.Header()
}
