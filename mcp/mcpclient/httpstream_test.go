package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func progressOf(m message, n int) string {
	return fmt.Sprintf(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, m.param("_meta", "progressToken"), n)
}

func TestStreamBringsProgressBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-103b", "R-132b", "R-136b")
	for era, s := range map[string]*webServer{
		"stateless": web(t, statelessWeb(streamed)),
		"session":   web(t, sessionWeb(mcp.V20251125, streamed)),
	} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c := connect(t, mcpclient.URL(s.URL), nil)
			var got []float64
			_, err := c.CallTool(t.Context(), "slow", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) { got = append(got, p.Progress) }))
			if err != nil || !slices.Equal(got, []float64{1, 2, 3}) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func streamed(e *exchange) {
	if e.Request.Method != http.MethodPost {
		e.w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	e.event(": a comment")
	for i := range 3 {
		e.event(progressOf(e.message, i+1))
	}
	e.event("event: other", "data: not a message")
	e.event("data: " + e.result(`{"content":[]}`))
}

func TestProgressOnTheStandaloneStreamReachesItsCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-110a", "R-110b", "R-112b")
	standalone, heard := make(chan *exchange, 1), make(chan struct{})
	s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
		switch e.Request.Method {
		case http.MethodGet:
			e.event(": open")
			standalone <- e
			e.hold()
		case http.MethodPost:
			(<-standalone).event(progressOf(e.message, 1))
			<-heard
			e.json(200, e.result(`{"content":[]}`))
		}
	}))
	c := connect(t, mcpclient.URL(s.URL), nil)
	n := 0
	_, err := c.CallTool(t.Context(), "slow", nil, mcpclient.WithProgress(func(mcp.ProgressParams) {
		n++
		close(heard)
	}))
	if err != nil || n != 1 {
		t.Errorf("got %d, %v, want 1", n, err)
	}
}

func TestBrokenStreamOfASessionIsResumed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-106a", "R-106b", "R-114")
	synctest.Test(t, func(t *testing.T) {
		s := &webServer{handle: sessionWeb(mcp.V20251125, func(e *exchange) {
			switch last := e.Header.Get("Last-Event-Id"); {
			case e.message.Method == mcp.MethodToolsCall:
				e.event("id: 1", "retry: 1500", "data:")
				e.event("id: 2", progressOf(e.message, 1))
			case last == "2":
				e.event("id: 3", `data: {"jsonrpc":"2.0","id":`+e.Header.Get("X-Id")+`,"result":{"content":[]}}`)
			default:
				e.w.WriteHeader(http.StatusMethodNotAllowed)
			}
		})}
		// The second call of the client, after discover and initialize, has the id 3.
		o := overMemory(s)
		o.HTTP.Header = http.Header{"X-Id": {"3"}}
		c := connect(t, mcpclient.URL("http://server.example/mcp"), o)
		began, n := time.Now(), 0
		if _, err := c.CallTool(t.Context(), "slow", nil, mcpclient.WithProgress(func(mcp.ProgressParams) { n++ })); err != nil || n != 1 {
			t.Fatalf("got %d, %v", n, err)
		}
		if waited := time.Since(began); waited < 1500*time.Millisecond { // by itself it waits for a second
			t.Errorf("came back after %v, want 1.5 s", waited)
		}
	})
}

func TestBrokenStreamOfTheStatelessEraLosesTheCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-138")
	s := web(t, statelessWeb(func(e *exchange) { e.event("id: 1", "retry: 1", "data:") }))
	c := connect(t, mcpclient.URL(s.URL), nil)
	if _, err := c.CallTool(t.Context(), "slow", nil); err == nil || !strings.Contains(err.Error(), "stream ended before the answer") {
		t.Errorf("got %v", err)
	}
	if got := len(s.exchanges(http.MethodGet, "")); got != 0 {
		t.Errorf("got %d GETs, want none", got)
	}
}

func TestExpiredSessionDuringResumptionDoesNotRepeatTheCall(t *testing.T) {
	t.Parallel()
	s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
		switch {
		case e.message.Method == mcp.MethodToolsCall:
			e.event("id: 1", "data:")
		case e.Header.Get("Last-Event-Id") != "":
			http.NotFound(e.w, e.Request)
		default:
			e.w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	c := connect(t, mcpclient.URL(s.URL), nil)
	_, err := c.CallTool(t.Context(), "slow", nil)
	if _, ok := errors.AsType[*mcpclient.LostError](err); !ok {
		t.Errorf("got %v, want a LostError", err)
	}
	if got := len(s.exchanges(http.MethodPost, mcp.MethodToolsCall)); got != 1 {
		t.Errorf("called %d times, want 1", got)
	}
}

func TestCallWhoseServerIsGoneDuringResumptionMayHaveRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &webServer{handle: sessionWeb(mcp.V20251125, func(e *exchange) {
			if e.message.Method == mcp.MethodToolsCall {
				e.event("id: 1", "data:")
				return
			}
			e.w.WriteHeader(http.StatusMethodNotAllowed)
		})}
		o := overMemory(s)
		o.HTTP.Client.Transport = goneForGET{o.HTTP.Client.Transport}
		c := connect(t, mcpclient.URL("http://server.example/mcp"), o)
		_, err := c.CallTool(t.Context(), "slow", nil, mcpclient.WithTimeout(time.Hour))
		if _, ok := errors.AsType[*mcpclient.MayHaveRunError](err); !ok {
			t.Errorf("got %v, want a MayHaveRunError", err)
		}
	})
}

// goneForGET fails to dial for the requests that resume a stream.
type goneForGET struct{ http.RoundTripper }

func (g goneForGET) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Last-Event-Id") != "" {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return g.RoundTripper.RoundTrip(r)
}

func TestCancellationOverHTTPIsThatOfTheEra(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-109b", "R-279b", "R-286b")
	for era, make := range map[string]func(func(*exchange)) func(*exchange){
		"stateless": statelessWeb,
		"session":   func(next func(*exchange)) func(*exchange) { return sessionWeb(mcp.V20251125, next) },
	} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			left := makeChan()
			cancelled := makeChan()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := web(t, make(func(e *exchange) {
				switch e.message.Method {
				case mcp.MethodToolsCall:
					e.event(": wait")
					cancel()
					e.hold()
					left <- e
				case mcp.NotificationCancelled:
					e.w.WriteHeader(202)
					cancelled <- e
				default:
					e.w.WriteHeader(http.StatusMethodNotAllowed)
				}
			}))
			c := connect(t, mcpclient.URL(s.URL), nil)
			if _, err := c.CallTool(ctx, "silent", nil); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			call := <-left
			if era == "session" {
				if got := (<-cancelled).param("requestId"); got != string(call.ID) {
					t.Errorf("cancelled %s, want %s", got, call.ID)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if got := len(s.exchanges(http.MethodPost, mcp.NotificationCancelled)); got != map[string]int{"session": 1, "stateless": 0}[era] {
				t.Errorf("%d notifications", got)
			}
		})
	}
}

func makeChan() chan *exchange { return make(chan *exchange, 4) }

func TestRequestsOfTheServerAreAnsweredByPOST(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-100", "R-101", "D-07")
	for _, on := range []string{"the stream of the call", "the standalone stream"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			standalone, answers := makeChan(), makeChan()
			s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
				switch {
				case e.Request.Method == http.MethodGet:
					e.event(": open")
					standalone <- e
					e.hold()
				case e.message.Method == "" && e.Request.Method == http.MethodPost:
					e.w.WriteHeader(202)
					answers <- e
				case e.message.Method == mcp.MethodToolsCall:
					to := e
					if on != "the stream of the call" {
						to = <-standalone
					}
					e.event(": begin")
					to.event(`data: {"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
					a := <-answers
					e.event("data: " + e.result(`{"content":[],"structuredContent":`+string(a.Result)+`}`))
				}
			}))
			c := connect(t, mcpclient.URL(s.URL), answersAll())
			got, err := c.Call[mcp.ListRootsResult](t.Context(), "roots", nil)
			if err != nil || len(got.Roots) != 1 || got.Roots[0].URI != "file:///home" {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	s := web(t, statelessWeb(streamed))
	c := connect(t, mcpclient.URL(s.URL), nil)
	ports := map[string]bool{}
	for range 20 {
		if _, err := c.CallTool(t.Context(), "slow", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	for _, e := range s.exchanges(http.MethodPost, mcp.MethodToolsCall) {
		ports[e.RemoteAddr] = true
	}
	if len(ports) > 10 { // one, unless the machine is busy
		t.Errorf("%d connections for 20 calls one after the other", len(ports))
	}
}

func TestWatchOverHTTP(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-311")
	listens, told := makeChan(), make(chan struct{})
	s := web(t, statelessWeb(func(e *exchange) {
		e.event(`data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + e.subscriptionID() + `,"notifications":` + e.param("notifications") + `}}`)
		listens <- e
		if len(listens) < 2 {
			e.event(`data: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + e.subscriptionID() + `,"uri":"a://1/x"}}`)
			<-told
			return // the stream breaks
		}
		e.hold()
	}))
	gaps := make(chan mcpclient.Event, 8)
	c := connect(t, mcpclient.URL(s.URL), &mcpclient.Options{OnEvent: func(_ ctxT, e mcpclient.Event) {
		if e.Kind == mcpclient.EventGap {
			gaps <- e
		}
	}})
	var got []string
	for uri, err := range c.Watch(t.Context(), "a://1") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, uri)
		if len(got) == 2 {
			close(told)
		}
		if len(got) == 3 {
			break
		}
	}
	if want := []string{"a://1", "a://1/x", "a://1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	<-gaps
	if len(gaps) != 0 {
		t.Errorf("%d more gaps, want one", len(gaps))
	}
}

func TestStandaloneStreamIsResumed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-106b", "R-114")
	var opened atomic.Int32
	s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
		if e.Request.Method != http.MethodGet {
			return
		}
		if opened.Add(1) == 1 {
			e.event("id: 7", "retry: 1", "data:")
			return
		}
		e.event(`data: {"jsonrpc":"2.0","method":"acme/news","params":{"last":"` + e.Header.Get("Last-Event-Id") + `"}}`)
		e.hold()
	}))
	news := make(chan string, 1)
	connect(t, mcpclient.URL(s.URL), &mcpclient.Options{OnNotification: func(_ ctxT, method string, params rawValue) {
		news <- method + " " + string(params)
	}})
	if got, want := <-news, `acme/news {"last":"7"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRequestsOfTheServerAreNotAnsweredByPOSTInTheStatelessEra(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-129b")
	s := web(t, statelessWeb(func(e *exchange) {
		e.event(`data: {"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
		e.event("data: " + e.result(`{"content":[]}`))
	}))
	c := connect(t, mcpclient.URL(s.URL), answersAll())
	for range 2 {
		if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := strings.Join(s.log(), ", "), "POST server/discover, POST tools/call, POST tools/call"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNotificationsCarryTheStandardHeaders(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "D-09", "G-j")
	s := web(t, statelessWeb(func(e *exchange) { e.w.WriteHeader(http.StatusAccepted) }))
	c := connect(t, mcpclient.URL(s.URL), nil)
	if err := c.Notify(t.Context(), "acme/note", nil); err != nil {
		t.Fatal(err)
	}
	h := s.exchanges(http.MethodPost, "acme/note")[0].Header
	if h.Get("Mcp-Method") != "acme/note" || h.Get("Mcp-Protocol-Version") != "2026-07-28" {
		t.Errorf("got %v, want the method and the version", h)
	}
}
