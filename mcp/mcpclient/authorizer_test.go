package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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

// ring is an Authorizer whose next token counts the challenges.
type ring struct {
	mu         sync.Mutex
	challenges int
	// before, if set, runs before a challenge gives another token.
	before func(req *http.Request, resp *http.Response) error
	// authorizing, if set, runs before a request gets its token.
	authorizing func(req *http.Request) error
}

func (r *ring) Authorize(req *http.Request) error {
	if r.authorizing != nil {
		if err := r.authorizing(req); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	req.Header.Set("Authorization", fmt.Sprint("Bearer t", r.challenges))
	return nil
}

func (r *ring) Challenged(req *http.Request, resp *http.Response) error {
	if r.before != nil {
		if err := r.before(req, resp); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.challenges++
	return nil
}

func (r *ring) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.challenges
}

// refusing refuses the token t0 from the first request on for which at is true.
func refusing(status int, at func(*exchange) bool, handle func(*exchange)) func(*exchange) {
	var refused atomic.Bool
	return func(e *exchange) {
		if at(e) {
			refused.Store(true)
		}
		if refused.Load() && e.Header.Get("Authorization") == "Bearer t0" {
			e.w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			http.Error(e.w, "who are you?", status)
			return
		}
		handle(e)
	}
}

// request returns a test for one kind of request.
func request(verb, method string) func(*exchange) bool {
	return func(e *exchange) bool { return e.Request.Method == verb && e.message.Method == method }
}

// asking is a server of the session era that asks in each call and breaks its
// stream, so that the answer comes on another.
func asking() func(*exchange) {
	calls, answered := make(chan message, 1), make(chan struct{})
	return sessionWeb(mcp.V20251125, func(e *exchange) {
		switch {
		case e.message.Method == mcp.MethodToolsCall:
			e.event("id: 1", "retry: 1", "data:")
			e.event("id: 2", `data: {"jsonrpc":"2.0","id":"q","method":"roots/list"}`)
			calls <- e.message
		case e.Header.Get("Last-Event-Id") == "2":
			<-answered
			e.event("id: 3", "data: "+(<-calls).result(`{"content":[]}`))
		case e.Request.Method == http.MethodGet:
			e.event(": open")
			e.hold()
		case e.Request.Method == http.MethodPost && e.message.Method == "":
			close(answered)
			e.w.WriteHeader(http.StatusAccepted)
		default:
			e.w.WriteHeader(http.StatusAccepted)
		}
	})
}

func TestChallengedRequestIsSentAgainUnchanged(t *testing.T) {
	t.Parallel()
	call := func(t *testing.T, c *mcpclient.Client) {
		if _, err := c.CallTool(t.Context(), "ask", map[string]int{"n": 7}); err != nil {
			t.Error(err)
		}
	}
	notify := func(t *testing.T, c *mcpclient.Client) {
		if err := c.Notify(t.Context(), "acme/news", map[string]int{"n": 7}); err != nil {
			t.Error(err)
		}
	}
	list := func(t *testing.T, c *mcpclient.Client) {
		if _, err := names(t, c); err != nil {
			t.Error(err)
		}
	}
	nothing := func(*testing.T, *mcpclient.Client) {}
	plain := statelessWeb(func(e *exchange) { e.json(200, e.result(`{"content":[]}`)) })
	for name, test := range map[string]struct {
		handle func() func(*exchange)
		at     func(*exchange) bool
		use    func(*testing.T, *mcpclient.Client)
	}{
		"stateless discovery":     {func() func(*exchange) { return plain }, request("POST", mcp.MethodDiscover), nothing},
		"stateless call":          {func() func(*exchange) { return plain }, request("POST", mcp.MethodToolsCall), call},
		"initialize":              {asking, request("POST", mcp.MethodInitialize), nothing},
		"initialized":             {asking, request("POST", mcp.NotificationInitialized), nothing},
		"standalone stream":       {asking, request("GET", ""), nothing},
		"call of a session":       {asking, request("POST", mcp.MethodToolsCall), call},
		"stream taken up again":   {asking, func(e *exchange) bool { return e.Header.Get("Last-Event-Id") != "" }, call},
		"answer to the server":    {asking, request("POST", ""), call},
		"notification":            {asking, request("POST", "acme/news"), notify},
		"event stream":            {func() func(*exchange) { return eventStreamWeb("/messages?id=1", makeChan()) }, request("GET", ""), list},
		"message to its endpoint": {func() func(*exchange) { return eventStreamWeb("/messages?id=1", makeChan()) }, request("POST", mcp.MethodToolsList), list},
	} {
		for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
			t.Run(fmt.Sprint(name, " ", status), func(t *testing.T) {
				t.Parallel()
				s := web(t, refusing(status, test.at, test.handle()))
				auth := new(ring)
				target := mcpclient.URL(s.URL)
				if strings.Contains(name, "event stream") || strings.Contains(name, "endpoint") {
					target = mcpclient.EventStream(s.URL + "/sse")
				}
				c := connect(t, target, &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Auth: auth}, Roots: func(ctxT) ([]mcp.Root, error) { return nil, nil }})
				test.use(t, c)
				if got := auth.count(); got != 1 {
					t.Errorf("challenged %d times, want once", got)
				}
				checkResent(t, s, test.at)
			})
		}
	}
}

// checkResent looks at the first two requests of a kind: they differ by the token
// alone.
func checkResent(t *testing.T, s *webServer, at func(*exchange) bool) {
	t.Helper()
	var sent []string
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.got {
		if at(e) {
			h := e.Header.Clone()
			h.Del("Authorization")
			sent = append(sent, e.Header.Get("Authorization"), fmt.Sprint(e.URL, h, e.message))
		}
	}
	if len(sent) < 4 || sent[0] != "Bearer t0" || sent[2] != "Bearer t1" || sent[1] != sent[3] {
		t.Errorf("got %q, want the same again with t1", sent)
	}
}

func TestEveryRequestIsAuthorized(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-166a", "R-166b")
	s := web(t, asking())
	c := connect(t, mcpclient.URL(s.URL), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Auth: new(ring)}, Roots: func(ctxT) ([]mcp.Root, error) { return nil, nil }})
	if _, err := c.CallTool(t.Context(), "ask", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := s.log(); !strings.Contains(strings.Join(got, ","), "DELETE") {
		t.Errorf("got %v, want a goodbye", got)
	}
	for _, e := range s.got {
		if got := e.Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer t0" || strings.Contains(e.URL.String(), "t0") {
			t.Errorf("%s %s %v: got %v", e.Request.Method, e.message.Method, e.URL, got)
		}
	}
}

func TestChallengeToACancellationOrDeleteStartsNoSignIn(t *testing.T) {
	t.Parallel()
	called := make(chan struct{})
	s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
		switch {
		case e.message.Method == mcp.MethodToolsCall:
			close(called)
			e.hold()
		case e.Request.Method == http.MethodGet:
			e.w.WriteHeader(http.StatusMethodNotAllowed)
		default: // cancelled, or DELETE
			e.w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	auth := new(ring)
	c := connect(t, mcpclient.URL(s.URL), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Auth: auth}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-called
		cancel()
	}()
	if _, err := c.CallTool(ctx, "slow", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := len(s.exchanges("DELETE", "")); got != 1 || auth.count() != 0 {
		t.Errorf("%d times DELETE, %d challenges, want 1 and none", got, auth.count())
	}
}

func TestCallsRefusedAtTheSameTimeAreAllAuthorizedAgain(t *testing.T) {
	t.Parallel()
	const calls = 50
	for era, make := range map[string]func(func(*exchange)) func(*exchange){
		"stateless": statelessWeb,
		"session":   func(next func(*exchange)) func(*exchange) { return sessionWeb(mcp.V20251125, next) },
	} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			all := new(sync.WaitGroup)
			all.Add(calls)
			s := web(t, make(func(e *exchange) {
				switch {
				case e.Request.Method != http.MethodPost:
					e.w.WriteHeader(http.StatusMethodNotAllowed)
				case e.Header.Get("Authorization") == "Bearer t0":
					all.Done() // every call is refused before one goes on
					all.Wait()
					e.w.WriteHeader(http.StatusUnauthorized)
				default:
					e.json(200, e.result(`{"content":[]}`))
				}
			}))
			c := connect(t, mcpclient.URL(s.URL), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Auth: new(ring)}})
			var work sync.WaitGroup
			for range calls {
				work.Go(func() {
					if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
						t.Error(err)
					}
				})
			}
			work.Wait()
			if got := len(s.exchanges("POST", mcp.MethodToolsCall)); got != 2*calls {
				t.Errorf("got %d requests, want %d", got, 2*calls)
			}
		})
	}
}

func TestEndlessChallengesEndInTheirStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		s := web(t, statelessWeb(func(e *exchange) {
			e.w.Header().Set("WWW-Authenticate", "Bearer")
			e.w.WriteHeader(status)
		}))
		auth := new(ring)
		c := connect(t, mcpclient.URL(s.URL), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Auth: auth}})
		_, err := c.CallTool(t.Context(), "x", nil)
		if statusOf(err) != status || auth.count() != 3 || len(s.exchanges("POST", mcp.MethodToolsCall)) != 4 {
			t.Errorf("got %v after %d challenges, want HTTP %d after 3", err, auth.count(), status)
		}
	}
}

// signInError is what an Authorizer says of a sign-in that failed.
type signInError struct{ why string }

func (e *signInError) Error() string { return "sign in: " + e.why }

func TestFailedSignInIsTheErrorOfTheCall(t *testing.T) {
	t.Parallel()
	closed := &signInError{"the window was closed"}
	refuse := func(e *exchange) { http.Error(e.w, "secret banner", http.StatusUnauthorized) }
	failing := func() *ring { return &ring{before: func(*http.Request, *http.Response) error { return closed }} }
	check := func(t *testing.T, err error) {
		t.Helper()
		if got, ok := errors.AsType[*signInError](err); !ok || got != closed || statusOf(err) != 401 || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want %v and the HTTPError", err, closed)
		}
	}
	t.Run("Connect", func(t *testing.T) {
		t.Parallel()
		s := web(t, refuse)
		for _, target := range []mcpclient.Target{mcpclient.URL(s.URL), mcpclient.EventStream(s.URL)} {
			_, err := mcpclient.Connect(t.Context(), target, &mcpclient.Options{Logger: quiet(), HTTP: mcpclient.HTTPOptions{Auth: failing()}})
			check(t, err)
		}
		if got := s.log(); len(got) != 2 {
			t.Errorf("got %v, want one request of each", got)
		}
	})
	t.Run("Call", func(t *testing.T) {
		t.Parallel()
		for name, handle := range map[string]func(*exchange){
			"stateless": statelessWeb(refuse),
			"session": sessionWeb(mcp.V20251125, func(e *exchange) {
				if e.Request.Method == http.MethodGet {
					e.w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				refuse(e)
			}),
		} {
			c := connect(t, mcpclient.URL(web(t, handle).URL), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Auth: failing()}})
			_, err := c.Call[string](t.Context(), "x", nil)
			if check(t, err); err == nil || !strings.Contains(err.Error(), "HTTP 401 Unauthorized: sign in: the window was closed") {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

func TestRequestThatCannotBeAuthorizedIsNotSent(t *testing.T) {
	t.Parallel()
	locked := &signInError{"the store of tokens is locked"}
	for name, authorize := range map[string]func(*http.Request) error{
		"error": func(*http.Request) error { return locked },
		"panic": func(*http.Request) error { panic(locked) },
	} {
		s := web(t, statelessWeb(nil))
		_, err := mcpclient.Connect(t.Context(), mcpclient.URL(s.URL), &mcpclient.Options{Logger: quiet(), HTTP: mcpclient.HTTPOptions{Auth: &ring{authorizing: authorize}}})
		if err == nil || !strings.Contains(err.Error(), "server/discover: authorize POST "+s.URL) || !strings.Contains(err.Error(), "the store of tokens is locked") {
			t.Errorf("%s: got %v", name, err)
		}
		if got := s.log(); len(got) != 0 {
			t.Errorf("%s: the server got %v", name, got)
		}
	}
}

func TestPanicOfASignInIsAnError(t *testing.T) {
	t.Parallel()
	s := web(t, func(e *exchange) { e.w.WriteHeader(http.StatusUnauthorized) })
	auth := &ring{before: func(*http.Request, *http.Response) error { panic("no window") }}
	if _, err := mcpclient.Connect(t.Context(), mcpclient.URL(s.URL), &mcpclient.Options{Logger: quiet(), HTTP: mcpclient.HTTPOptions{Auth: auth}}); err == nil || !strings.Contains(err.Error(), "panic: no window") {
		t.Errorf("got %v", err)
	}
}

func TestTwoSourcesOfOneHeaderAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Authorization", "authorization"} {
		_, err := mcpclient.Connect(t.Context(), mcpclient.URL("https://example.com/"), &mcpclient.Options{
			HTTP: mcpclient.HTTPOptions{Header: http.Header{name: {"Bearer secret"}}, Auth: new(ring)},
		})
		if err == nil || !strings.Contains(err.Error(), "want one of them") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestCredentialsAreNotRedirectedToAnotherOrigin(t *testing.T) {
	t.Parallel()
	elsewhere := web(t, statelessWeb(nil))
	secure := httptest.NewTLSServer(elsewhere)
	defer secure.Close()
	port := elsewhere.URL[strings.LastIndex(elsewhere.URL, ":"):]
	for _, status := range []int{301, 302, 303, 307, 308} {
		for name, to := range map[string]string{
			"other port":   elsewhere.URL + "/mcp",
			"other host":   "http://localhost" + port + "/mcp",
			"other scheme": secure.URL + "/mcp",
		} {
			t.Run(fmt.Sprint(status, " ", name), func(t *testing.T) {
				for path, at := range map[string]func(*exchange) bool{
					"first":             func(*exchange) bool { return true },
					"after a challenge": func(e *exchange) bool { return e.Header.Get("Authorization") == "Bearer t1" },
				} {
					s := web(t, func(e *exchange) {
						if at(e) {
							http.Redirect(e.w, e.Request, to, status)
							return
						}
						e.w.WriteHeader(http.StatusUnauthorized)
					})
					_, err := mcpclient.Connect(t.Context(), mcpclient.URL(s.URL+"/mcp"), &mcpclient.Options{
						Logger: quiet(), HTTP: mcpclient.HTTPOptions{Auth: new(ring), Client: secure.Client()},
					})
					if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("redirect %d from %s to ", status, s.URL)) {
						t.Errorf("%s: got %v", path, err)
					}
				}
			})
		}
	}
	if got := elsewhere.log(); len(got) != 0 {
		t.Errorf("the other origin got %v", got)
	}
}

// handlerTripper answers requests by a handler, without a network.
type handlerTripper struct{ http.Handler }

func (h handlerTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w.Result(), nil
}

func TestDeadlinesArePausedDuringASignIn(t *testing.T) {
	t.Parallel()
	at := map[string]func(*exchange) bool{
		"probe":      request("POST", mcp.MethodDiscover),
		"initialize": request("POST", mcp.MethodInitialize),
		"call":       request("POST", mcp.MethodToolsCall),
		"ping":       request("POST", mcp.MethodPing),
	}
	for name, refuse := range at {
		for step, auth := range map[string]func() *ring{
			"challenged": func() *ring {
				return &ring{before: func(req *http.Request, _ *http.Response) error { return signingIn(req) }}
			},
			"authorizing": func() *ring {
				var once sync.Once
				return &ring{authorizing: func(req *http.Request) (err error) {
					if req.Method == http.MethodPost && refuse(&exchange{Request: req, message: bodyOf(req)}) {
						once.Do(func() { err = signingIn(req) })
					}
					return err
				}}
			},
		} {
			t.Run(name+" "+step, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := &webServer{handle: refusing(http.StatusUnauthorized, refuse, sessionWeb(mcp.V20251125, func(e *exchange) {
						switch e.Request.Method {
						case http.MethodPost:
							e.json(200, e.result(`{"content":[]}`))
						default:
							e.w.WriteHeader(http.StatusMethodNotAllowed)
						}
					}))}
					c := connect(t, mcpclient.URL("http://127.0.0.1/mcp"), &mcpclient.Options{
						HTTP: mcpclient.HTTPOptions{Auth: auth(), Client: &http.Client{Transport: handlerTripper{s}}},
					})
					if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
						t.Error(err)
					}
					time.Sleep(2 * time.Hour) // of pings
					if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
						t.Error(err)
					}
					if got := len(s.exchanges("POST", mcp.MethodInitialize)); got > 2 || c.Revision() != mcp.V20251125 {
						t.Errorf("connected %d times, speaks %v", got, c.Revision())
					}
				})
			})
		}
	}
}

// signingIn takes longer than any deadline.
func signingIn(req *http.Request) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-req.Context().Done():
		return context.Cause(req.Context())
	}
}

// bodyOf reads what a request is going to say.
func bodyOf(req *http.Request) message {
	body, err := req.GetBody()
	if err != nil {
		return message{}
	}
	data, _ := io.ReadAll(body)
	return parse(data)
}

// A session that was lost is opened anew by one of the calls that need it. All of
// them wait for the sign-in.
func TestCallsWaitForTheSignInOfANewSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Bool
		next := sessionWeb(mcp.V20251125, func(e *exchange) {
			switch {
			case e.Request.Method != http.MethodPost:
				e.w.WriteHeader(http.StatusMethodNotAllowed)
			case lost.Load() && e.Header.Get("Mcp-Session-Id") == "s0":
				e.w.WriteHeader(http.StatusNotFound)
			default:
				e.json(200, e.result(`{"content":[]}`))
			}
		})
		s := &webServer{handle: refusing(http.StatusUnauthorized, func(e *exchange) bool {
			return lost.Load() && e.message.Method == mcp.MethodInitialize
		}, next)}
		auth := &ring{before: func(req *http.Request, _ *http.Response) error { return signingIn(req) }}
		c := connect(t, mcpclient.URL("http://127.0.0.1/mcp"), &mcpclient.Options{
			HTTP: mcpclient.HTTPOptions{Auth: auth, Client: &http.Client{Transport: handlerTripper{s}}}, PingInterval: -1,
		})
		lost.Store(true)
		var work sync.WaitGroup
		for i := range 3 {
			work.Go(func() {
				time.Sleep(time.Duration(i) * 20 * time.Minute) // before the sign-in, and while it lasts
				if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		if got := auth.count(); got != 1 {
			t.Errorf("signed in %d times, want once", got)
		}
	})
}

func TestTimeoutContinuesAfterASignIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &webServer{handle: refusing(http.StatusUnauthorized, request("POST", mcp.MethodToolsCall), statelessWeb(func(e *exchange) { e.hold() }))}
		auth := &ring{before: func(req *http.Request, _ *http.Response) error { return signingIn(req) }}
		c := connect(t, mcpclient.URL("http://127.0.0.1/mcp"), &mcpclient.Options{
			HTTP: mcpclient.HTTPOptions{Auth: auth, Client: &http.Client{Transport: handlerTripper{s}}},
		})
		began := time.Now()
		_, err := c.CallTool(t.Context(), "x", nil)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != time.Hour+time.Minute {
			t.Errorf("got %v after %v, want a minute besides the hour of the sign-in", err, took)
		}
	})
}

func TestCacheIsClearedWhenTheTokenChanges(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-267")
	reads := 0
	s := web(t, statelessWeb(func(e *exchange) {
		switch {
		case e.message.Method == mcp.MethodResourcesRead:
			reads++
			e.json(200, e.result(fmt.Sprintf(`{"contents":[{"uri":"a://1","text":"%d"}],"ttlMs":60000,"cacheScope":"private"}`, reads)))
		case e.Header.Get("Authorization") == "Bearer t0":
			e.w.WriteHeader(http.StatusUnauthorized)
		default:
			e.json(200, e.result(`{"content":[]}`))
		}
	}))
	c := connect(t, mcpclient.URL(s.URL), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Auth: new(ring)}})
	if first, again := read(t, c, "a://1"), read(t, c, "a://1"); first != "1" || again != "1" {
		t.Errorf("got %s and %s, want the first to be kept", first, again)
	}
	if _, err := c.CallTool(t.Context(), "needs another token", nil); err != nil {
		t.Fatal(err)
	}
	if got := read(t, c, "a://1"); got != "2" {
		t.Errorf("with another token: got %s, want what it may read", got)
	}
}

func TestCommandsAndConnectionsTakeNoCredentials(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-086")
	_, target := serve(t, stateless(func(_ *script, m message) string { return m.result(`{"content":[]}`) }))
	auth := &ring{authorizing: func(*http.Request) error { return errors.New("asked for credentials") }}
	c := connect(t, target, &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Auth: auth}})
	if _, err := c.CallTool(t.Context(), "x", nil); err != nil || auth.count() != 0 {
		t.Errorf("got %v", err)
	}
}
