package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// restarted is a server that knows only sessions from the given one on, as after a
// restart. It refuses requests of other sessions as refuse does.
func restarted(knows string, refuse func(e *exchange), next func(e *exchange)) func(*exchange) {
	return sessionWeb(mcp.V20251125, func(e *exchange) {
		switch {
		case e.Request.Method == http.MethodGet:
			e.w.WriteHeader(http.StatusMethodNotAllowed)
		case e.Header.Get("Mcp-Session-Id") < knows:
			refuse(e)
		case e.Request.Method == http.MethodDelete:
			e.w.WriteHeader(http.StatusNoContent)
		case next != nil:
			next(e)
		default:
			e.json(http.StatusOK, e.result(`{"content":[]}`))
		}
	})
}

// What servers answer to a session that they do not know.
var refusals = map[string]func(e *exchange){
	"404, TypeScript": func(e *exchange) {
		e.json(404, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`)
	},
	"404, text": func(e *exchange) { http.Error(e.w, "session not found", 404) },
	"400, server-everything": func(e *exchange) {
		e.json(400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":`+string(e.ID)+`}`)
	},
	"400, TypeScript sample": func(e *exchange) {
		e.json(400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`)
	},
	"400, python-sdk": func(e *exchange) {
		e.json(400, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: No valid session ID provided"}}`)
	},
	"400, another code without our id": func(e *exchange) {
		e.json(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no session"}}`)
	},
	"400, text":                   func(e *exchange) { http.Error(e.w, "Invalid or missing session ID", 400) },
	"400, empty":                  func(e *exchange) { e.w.WriteHeader(400) },
	"400, JSON of something else": func(e *exchange) { e.json(400, `{"error":"bad session"}`) },
}

func TestLostSessionIsOpenedAgainOnceAndTheOldOneDeleted(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-120")
	for name, refuse := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deleted := make(chan string, 4)
			s := web(t, restarted("s1", func(e *exchange) {
				if e.Request.Method == http.MethodDelete {
					deleted <- e.Header.Get("Mcp-Session-Id")
				}
				refuse(e)
			}, nil))
			events := make(chan mcpclient.Event, 8)
			c := connect(t, mcpclient.URL(s.URL), &mcpclient.Options{NoRestart: true, OnEvent: func(_ ctxT, e mcpclient.Event) { events <- e }})
			if _, err := c.CallTool(t.Context(), "add", nil); err != nil {
				t.Fatal(err)
			}
			if _, err := c.CallTool(t.Context(), "add", nil); err != nil {
				t.Fatal(err)
			}
			var sessions []string
			for _, e := range s.exchanges(http.MethodPost, mcp.MethodToolsCall) {
				sessions = append(sessions, e.Header.Get("Mcp-Session-Id"))
			}
			if want := []string{"s0", "s1", "s1"}; !slices.Equal(sessions, want) {
				t.Errorf("called in sessions %v, want %v", sessions, want)
			}
			if got := len(s.exchanges(http.MethodPost, mcp.MethodInitialize)); got != 2 {
				t.Errorf("initialized %d times, want 2", got)
			}
			if got := <-deleted; got != "s0" {
				t.Errorf("deleted %q, want s0", got)
			}
			for _, want := range []mcpclient.EventKind{mcpclient.EventConnected, mcpclient.EventLost, mcpclient.EventReinitialised} {
				e := <-events
				if e.Kind != want || want == mcpclient.EventLost && !errors.Is(e.Err, mcpclient.ErrSessionLost) {
					t.Errorf("event: got %v, want %v", e, want)
				}
			}
		})
	}
}

func TestBadRequestThatAnswersTheCallIsItsError(t *testing.T) {
	t.Parallel()
	s := web(t, restarted("s0", nil, func(e *exchange) { e.json(400, e.fail(-32602, "no such tool", "")) }))
	c := connect(t, mcpclient.URL(s.URL), nil)
	_, err := c.CallTool(t.Context(), "add", nil)
	if mcp.CodeOf(err) != mcp.CodeInvalidParams {
		t.Errorf("got %v, want the answer of the server", err)
	}
	if got := len(s.exchanges(http.MethodPost, mcp.MethodInitialize)); got != 1 {
		t.Errorf("initialized %d times, want once", got)
	}
}

func TestBadRequestWithoutASessionIsTheErrorOfTheCall(t *testing.T) {
	t.Parallel()
	s := &webServer{handle: func(e *exchange) {
		switch e.message.Method {
		case mcp.MethodInitialize:
			e.json(200, e.result(initializeResult("2025-11-25")))
		case mcp.NotificationInitialized:
			e.w.WriteHeader(202)
		case mcp.MethodDiscover:
			e.json(400, e.fail(-32601, "no", ""))
		default:
			http.Error(e.w, "no", 400)
		}
	}}
	s.Server = httptest.NewServer(s) // the check of messages finds the era by the session
	t.Cleanup(s.Server.Close)
	c := connect(t, mcpclient.URL(s.URL), nil)
	if _, err := c.CallTool(t.Context(), "add", nil); statusOf(err) != 400 {
		t.Errorf("got %v, want HTTP 400", err)
	}
	if got := len(s.exchanges(http.MethodPost, mcp.MethodInitialize)); got != 1 {
		t.Errorf("initialized %d times, want once", got)
	}
}

// The second 400 shows that the first was no loss.
func TestBadRequestOfARepeatedCallGivesTheFirstErrorAndDoesNotCountForAWhile(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-120")
	for name, test := range map[string]struct {
		refuse func(e *exchange, n int32)
		want   string
		status int
	}{
		"an error with our id": {func(e *exchange, n int32) {
			e.json(400, e.fail(-32600, []string{"the first", "the second", "a later one"}[min(n, 2)], ""))
		}, "peer answered -32600: the first", 0},
		"a text": {func(e *exchange, n int32) { http.Error(e.w, "bad", 400) }, "HTTP 400 Bad Request", 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			s := web(t, restarted("s0", nil, func(e *exchange) {
				if e.param("name") == `"bad"` {
					test.refuse(e, n.Add(1)-1)
					return
				}
				e.json(200, e.result(`{"content":[]}`))
			}))
			c := connect(t, mcpclient.URL(s.URL), nil)
			_, err := c.CallTool(t.Context(), "bad", nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || statusOf(err) != test.status {
				t.Errorf("got %v, want %s", err, test.want)
			}
			for _, typed := range []any{new(*mcpclient.LostError), new(*mcpclient.MayHaveRunError)} {
				if errors.As(err, typed) {
					t.Errorf("got a %T, want the answer of a server that refuses the call", typed)
				}
			}
			for range 3 {
				if _, err := c.CallTool(t.Context(), "bad", nil); err == nil {
					t.Error("got no error")
				}
			}
			if _, err := c.CallTool(t.Context(), "good", nil); err != nil {
				t.Errorf("got %v, want the session still used", err)
			}
			if got := len(s.exchanges(http.MethodPost, mcp.MethodInitialize)); got != 2 {
				t.Errorf("initialized %d times, want 2", got)
			}
			if got := n.Load(); got != 5 {
				t.Errorf("sent %d times, want the first call twice and the others once", got)
			}
		})
	}
}

func TestCallsThatSeeTheSameLossShareOneNewSession(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-120")
	for _, status := range []int{400, 404} {
		const calls = 20
		var waiting sync.WaitGroup
		waiting.Add(calls)
		s := web(t, restarted("s1", func(e *exchange) {
			if e.message.Method == mcp.MethodToolsCall {
				waiting.Done() // all are in flight before the first is refused
				waiting.Wait()
			}
			http.Error(e.w, "which session?", status)
		}, nil))
		c := connect(t, mcpclient.URL(s.URL), nil)
		errs := make(chan error, calls)
		for range calls {
			go func() {
				_, err := c.CallTool(t.Context(), "add", nil)
				errs <- err
			}()
		}
		for range calls {
			if err := <-errs; err != nil {
				t.Errorf("%d: %v", status, err)
			}
		}
		if got := len(s.exchanges(http.MethodPost, mcp.MethodInitialize)); got != 2 {
			t.Errorf("%d: initialized %d times, want 2", status, got)
		}
	}
}

// Behind a load balancer one replica may have begun a call while another does not know
// the session.
func TestCallThatTheServerHasBegunGetsItsResultAlthoughTheSessionIsLost(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-120")
	begun, refused := make(chan struct{}), make(chan struct{})
	s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
		switch {
		case e.Request.Method == http.MethodGet:
			e.w.WriteHeader(http.StatusMethodNotAllowed)
		case e.Request.Method == http.MethodDelete:
			e.w.WriteHeader(http.StatusNoContent)
		case e.param("name") == `"slow"`:
			e.event(": begun")
			close(begun)
			<-refused
			e.event("data: " + e.result(`{"content":[{"type":"text","text":"done"}]}`))
		case e.Header.Get("Mcp-Session-Id") == "s0":
			http.NotFound(e.w, e.Request)
		default:
			e.json(200, e.result(`{"content":[]}`))
			close(refused)
		}
	}))
	c := connect(t, mcpclient.URL(s.URL), nil)
	slow := make(chan error, 1)
	go func() {
		text, err := c.Call[string](t.Context(), "slow", nil)
		if err == nil && text != "done" {
			err = errors.New("got " + text)
		}
		slow <- err
	}()
	<-begun
	if _, err := c.CallTool(t.Context(), "other", nil); err != nil {
		t.Fatal(err)
	}
	if err := <-slow; err != nil {
		t.Errorf("got %v, want the result", err)
	}
}

func TestCallThatTheServerHasBegunAndDroppedMayHaveRun(t *testing.T) {
	t.Parallel()
	begun, refused := make(chan struct{}), make(chan struct{})
	s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
		switch {
		case e.Request.Method != http.MethodPost:
			e.w.WriteHeader(http.StatusMethodNotAllowed)
		case e.param("name") == `"slow"`:
			e.event(": begun")
			close(begun)
			<-refused // and the stream ends without a response
		case e.Header.Get("Mcp-Session-Id") == "s0":
			http.NotFound(e.w, e.Request)
		default:
			e.json(200, e.result(`{"content":[]}`))
			close(refused)
		}
	}))
	c := connect(t, mcpclient.URL(s.URL), nil)
	slow := make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), "slow", nil)
		slow <- err
	}()
	<-begun
	if _, err := c.CallTool(t.Context(), "other", nil); err != nil {
		t.Fatal(err)
	}
	err := <-slow
	_, lost := errors.AsType[*mcpclient.LostError](err)
	_, mayHaveRun := errors.AsType[*mcpclient.MayHaveRunError](err)
	if !lost || !mayHaveRun {
		t.Errorf("got %v, want a LostError and a MayHaveRunError", err)
	}
	count := 0
	for _, e := range s.exchanges(http.MethodPost, mcp.MethodToolsCall) {
		if e.param("name") == `"slow"` {
			count++
		}
	}
	if count != 1 {
		t.Errorf("sent %d times, want once", count)
	}
}

func TestSilentServerOfALostSessionDelaysNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		left := make(chan struct{})
		s := &webServer{handle: restarted("s1", func(e *exchange) {
			if e.Request.Method == http.MethodDelete {
				e.hold()
				close(left)
				return
			}
			http.NotFound(e.w, e.Request)
		}, nil)}
		c := connect(t, mcpclient.URL("http://server.example/mcp"), overMemory(s))
		began := time.Now()
		if _, err := c.CallTool(t.Context(), "add", nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("took %v, want a call that does not wait for DELETE", took)
		}
		<-left // the client gives up by itself
	})
}

// A server without a stream for notifications may refuse it by any status, also by that of a lost
// session: stateful servers on Express have no route for GET and answer 404.
func TestFirstStreamThatIsRefusedMeansThatThereIsNone(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 404, 405, 406, 409, 410, 415, 422} {
		synctest.Test(t, func(t *testing.T) {
			s := &webServer{handle: sessionWeb(mcp.V20251125, func(e *exchange) {
				switch {
				case e.Request.Method == http.MethodGet:
					http.Error(e.w, "Cannot GET /mcp", status)
				case e.message.Method == mcp.MethodToolsCall:
					e.json(200, e.result(`{"content":[]}`))
				default:
					e.w.WriteHeader(http.StatusNoContent)
				}
			})}
			c := connect(t, mcpclient.URL("http://server.example/mcp"), overMemory(s))
			time.Sleep(20 * time.Second) // less than the idle time after which the session is pinged
			if _, err := c.CallTool(t.Context(), "add", nil); err != nil {
				t.Errorf("%d: %v", status, err)
			}
			if got := len(s.exchanges(http.MethodGet, "")); got != 1 {
				t.Errorf("%d: got %d GETs, want one", status, got)
			}
			if got := len(s.exchanges(http.MethodPost, mcp.MethodInitialize)); got != 1 {
				t.Errorf("%d: initialized %d times, want the session kept", status, got)
			}
			if got := len(s.exchanges(http.MethodPost, mcp.MethodPing)); got != 0 {
				t.Errorf("%d: got %d pings, want none", status, got)
			}
		})
	}
}

// The stream of one call is gone, and the session is not.
func TestRefusedResumptionDoesNotEndTheSession(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 404} {
		synctest.Test(t, func(t *testing.T) {
			s := &webServer{handle: sessionWeb(mcp.V20251125, func(e *exchange) {
				switch {
				case e.Request.Method == http.MethodGet && e.Header.Get("Last-Event-Id") == "":
					e.w.WriteHeader(http.StatusMethodNotAllowed)
				case e.Request.Method == http.MethodGet:
					http.Error(e.w, "no such event", status)
				case e.param("name") == `"broken"`:
					e.event("id: 1", "data:") // and the stream ends
				case e.message.Method == mcp.MethodPing:
					e.json(200, e.result(`{}`))
				case e.message.Method == mcp.MethodToolsCall:
					e.json(200, e.result(`{"content":[]}`))
				default:
					e.w.WriteHeader(http.StatusNoContent)
				}
			})}
			c := connect(t, mcpclient.URL("http://server.example/mcp"), overMemory(s))
			_, err := c.CallTool(t.Context(), "broken", nil)
			if _, lost := errors.AsType[*mcpclient.LostError](err); !lost {
				t.Errorf("%d: got %v, want a LostError", status, err)
			}
			synctest.Wait()
			if _, err := c.CallTool(t.Context(), "add", nil); err != nil {
				t.Errorf("%d: %v", status, err)
			}
			if initialized, pings := len(s.exchanges(http.MethodPost, mcp.MethodInitialize)), len(s.exchanges(http.MethodPost, mcp.MethodPing)); initialized != 1 || pings != 1 {
				t.Errorf("%d: initialized %d times and pinged %d times, want the session checked and kept", status, initialized, pings)
			}
		})
	}
}

// The stream of notifications has no message that a server could answer, so a request
// finds out whether the session is lost.
func TestRefusedStreamOfNotificationsLeadsToANewSession(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status, ping   int
		wantInitialize int
	}{
		"404":                           {404, 404, 2},
		"400":                           {400, 400, 2},
		"400, but the session is known": {400, 200, 1},
		"404, but the session is known": {404, 200, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var gets atomic.Int32
			second, pinged := make(chan struct{}, 8), make(chan struct{}, 8)
			s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
				old := e.Header.Get("Mcp-Session-Id") == "s0"
				switch {
				case e.Request.Method == http.MethodGet && old && gets.Add(1) == 1:
					e.event("retry: 1", "data:") // and the stream ends
				case e.Request.Method == http.MethodGet && old:
					http.Error(e.w, "which session?", test.status)
				case e.Request.Method == http.MethodGet:
					e.event(": open")
					second <- struct{}{}
					e.hold()
				case e.message.Method == mcp.MethodPing && old && test.ping != 200:
					http.Error(e.w, "which session?", test.ping)
				case e.message.Method == mcp.MethodPing:
					e.json(200, e.result(`{}`))
					pinged <- struct{}{}
				case e.Request.Method == http.MethodDelete:
					e.w.WriteHeader(204)
				default:
					e.json(200, e.result(`{"tools":[]}`))
				}
			}))
			// A subscription to lists needs its stream, so the client does not wait for
			// the next call.
			connect(t, mcpclient.URL(s.URL), &mcpclient.Options{OnToolsChanged: func(ctxT, *mcpclient.Client) {}})
			if test.wantInitialize == 2 {
				<-second
			} else {
				<-pinged
			}
			if got := len(s.exchanges(http.MethodPost, mcp.MethodInitialize)); got != test.wantInitialize {
				t.Errorf("initialized %d times, want %d", got, test.wantInitialize)
			}
		})
	}
}

func TestNotificationOfALostSessionIsSentAgain(t *testing.T) {
	t.Parallel()
	s := web(t, restarted("s1", func(e *exchange) { http.NotFound(e.w, e.Request) }, func(e *exchange) { e.w.WriteHeader(202) }))
	c := connect(t, mcpclient.URL(s.URL), nil)
	if err := c.Notify(t.Context(), "acme/note", nil); err != nil {
		t.Fatal(err)
	}
	notes := s.exchanges(http.MethodPost, "acme/note")
	if len(notes) != 2 || notes[1].Header.Get("Mcp-Session-Id") != "s1" {
		t.Errorf("sent %d times, want again in the new session", len(notes))
	}
}

func TestSubscriptionsAndLogLevelAreRestoredInTheNewSession(t *testing.T) {
	t.Parallel()
	watched := make(chan string, 8)
	s := web(t, restarted("s1", func(e *exchange) {
		switch e.message.Method {
		case mcp.MethodResourcesSubscribe, mcp.MethodSetLevel:
			e.json(200, e.result(`{}`))
		default:
			http.Error(e.w, "which session?", 400)
		}
	}, func(e *exchange) {
		e.json(200, e.result(`{"content":[]}`))
		if e.message.Method == mcp.MethodResourcesSubscribe {
			watched <- e.param("uri")
		}
	}))
	c := connect(t, mcpclient.URL(s.URL), nil)
	if err := c.SetLogLevel(t.Context(), mcp.LevelDebug); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	yielded := make(chan string, 8)
	go func() {
		for uri := range c.Watch(ctx, "a://1") {
			yielded <- uri
		}
	}()
	<-yielded
	if _, err := c.CallTool(t.Context(), "add", nil); err != nil {
		t.Fatal(err)
	}
	<-yielded // it may have changed meanwhile
	if got := <-watched; got != `"a://1"` {
		t.Errorf("subscribed to %s in the new session, want a://1", got)
	}
	levels := s.exchanges(http.MethodPost, mcp.MethodSetLevel)
	if len(levels) != 2 || levels[1].Header.Get("Mcp-Session-Id") != "s1" || levels[1].param("level") != `"debug"` {
		t.Errorf("the level was set %d times, want again in the new session", len(levels))
	}
}

// overMemory are options of a client that needs no network.
func overMemory(s *webServer) *mcpclient.Options {
	return &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Client: &http.Client{Transport: inMemory{s}}}}
}

// inMemory answers HTTP requests with a handler, without a network.
type inMemory struct{ http.Handler }

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	return w.Result(), nil
}

func TestBadRequestCountsAgainAsALossAfterAMinute(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-120")
	synctest.Test(t, func(t *testing.T) {
		var opened, knows atomic.Int32 // the number of the last session, and of the first one that is known
		s := &webServer{handle: func(e *exchange) {
			session, _ := strconv.Atoi(e.Header.Get("Mcp-Session-Id"))
			switch {
			case e.message.Method == mcp.MethodInitialize:
				e.w.Header().Set("Mcp-Session-Id", fmt.Sprint(opened.Add(1)))
				e.json(200, e.result(initializeResult("2025-11-25")))
			case e.Request.Method != http.MethodPost:
				e.w.WriteHeader(http.StatusMethodNotAllowed)
			case session < int(knows.Load()) || e.message.Method == mcp.MethodDiscover || e.param("name") == `"bad"`:
				http.Error(e.w, "bad", 400)
			case e.ID == nil:
				e.w.WriteHeader(http.StatusAccepted)
			default:
				e.json(200, e.result(`{"content":[]}`))
			}
		}}
		c := connect(t, mcpclient.URL("http://server.example/mcp"), overMemory(s))
		if _, err := c.CallTool(t.Context(), "bad", nil); statusOf(err) != 400 {
			t.Errorf("got %v, want HTTP 400", err)
		}
		knows.Store(opened.Load() + 1) // as after a restart
		time.Sleep(59 * time.Second)
		if _, err := c.CallTool(t.Context(), "good", nil); statusOf(err) != 400 {
			t.Errorf("after 59 s: got %v, want HTTP 400", err)
		}
		time.Sleep(time.Second)
		if _, err := c.CallTool(t.Context(), "good", nil); err != nil {
			t.Errorf("after 60 s: got %v, want a new session", err)
		}
		if got := opened.Load(); got != 3 {
			t.Errorf("opened %d sessions, want 3", got)
		}
	})
}
