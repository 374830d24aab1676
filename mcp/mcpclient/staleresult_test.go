package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// outageServer is a server over HTTP whose reads return their number, unless it fails.
type outageServer struct {
	reads atomic.Int32
	fail  atomic.Pointer[func(*exchange)] // answers in place of the server
}

func (s *outageServer) failWith(answer func(*exchange)) { s.fail.Store(&answer) }

func (s *outageServer) RoundTrip(req *http.Request) (*http.Response, error) {
	web := &webServer{handle: statelessWeb(func(e *exchange) {
		n := s.reads.Add(1)
		if f := s.fail.Load(); f != nil && *f != nil {
			(*f)(e)
			return
		}
		e.json(200, e.result(fmt.Sprintf(`{"contents":[{"uri":"a://1","text":"%d"}]%s}`, n, aMinute)))
	})}
	if f := s.fail.Load(); f != nil && *f == nil {
		s.reads.Add(1)
		return nil, errors.New("connection refused")
	}
	return handlerTripper{web}.RoundTrip(req)
}

// staleClient returns a client that uses stale results for an hour, and what it has reported.
func staleClient(t *testing.T, s *outageServer, changes ...func(*mcpclient.Options)) (*mcpclient.Client, *[]mcpclient.StaleResult) {
	t.Helper()
	reports := new([]mcpclient.StaleResult)
	o := &mcpclient.Options{
		HTTP: mcpclient.HTTPOptions{Client: &http.Client{Transport: s}},
		Cache: mcpclient.CacheOptions{StaleIfError: time.Hour, OnStale: func(_ context.Context, r mcpclient.StaleResult) {
			*reports = append(*reports, r)
		}},
	}
	for _, change := range changes {
		change(o)
	}
	return connect(t, mcpclient.URL("http://127.0.0.1/mcp"), o), reports
}

func status(code int) func(*exchange) {
	return func(e *exchange) { e.w.WriteHeader(code) }
}

func protocolError(code int) func(*exchange) {
	return func(e *exchange) { e.json(200, e.message.fail(code, "it failed", "")) }
}

func TestStaleResultIsUsedWhileTheServerFails(t *testing.T) {
	claim.Shows(t, "R-268a", "R-271")
	for name, fail := range map[string]func(*exchange){
		"unreachable": nil,
		"HTTP 500":    status(500),
		"HTTP 503":    status(503),
		"internal":    protocolError(-32603),
		"overloaded":  protocolError(503),
		"silent":      func(e *exchange) { e.hold() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := new(outageServer)
				c, reports := staleClient(t, s)
				received := time.Now()
				read(t, c, "a://1")
				s.failWith(fail)
				time.Sleep(59 * time.Second)
				if got := read(t, c, "a://1"); got != "1" || len(*reports) != 0 {
					t.Errorf("fresh: got %q and %d reports", got, len(*reports))
				}
				time.Sleep(time.Second)
				if got := read(t, c, "a://1"); got != "1" || len(*reports) != 1 {
					t.Fatalf("stale: got %q and %d reports, want the old result and one", got, len(*reports))
				}
				if r := (*reports)[0]; r.Method != mcp.MethodResourcesRead || r.URI != "a://1" || !r.ReceivedAt.Equal(received) || r.Err == nil {
					t.Errorf("reported %+v", r)
				}
				time.Sleep(time.Until(received.Add(time.Hour + time.Minute)))
				if _, err := c.ReadResource(t.Context(), "a://1"); err == nil {
					t.Error("got a result that has been stale for an hour, want the error")
				}
				s.fail.Store(nil)
				if got := read(t, c, "a://1"); got == "1" || got == "" {
					t.Errorf("after the outage: got %q, want a new result", got)
				}
			})
		})
	}
}

func TestNoStaleResultIsUsedWithoutAReason(t *testing.T) {
	claim.Shows(t, "R-267", "R-268a")
	for name, test := range map[string]struct {
		fail   func(*exchange)
		change func(*mcpclient.Options)
		opts   []mcpclient.CallOption
	}{
		"HTTP 401":         {fail: status(401)},
		"HTTP 403":         {fail: status(403)},
		"HTTP 404":         {fail: status(404)},
		"not found":        {fail: protocolError(-32602)},
		"not valid":        {fail: func(e *exchange) { e.json(200, e.result(`{"resultType":"weird"}`)) }},
		"off":              {fail: status(500), change: func(o *mcpclient.Options) { o.Cache.StaleIfError = 0 }},
		"no cache":         {fail: status(500), opts: []mcpclient.CallOption{mcpclient.NoCache()}},
		"pin of server":    {change: func(o *mcpclient.Options) { o.Pins.Server = "0123" }},
		"sign-in fails":    {fail: status(401), change: func(o *mcpclient.Options) { o.HTTP.Auth = withToken("a") }},
		"cannot authorize": {change: func(o *mcpclient.Options) { o.HTTP.Auth = &failsLater{} }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := new(outageServer)
				c, reports := staleClient(t, s, func(o *mcpclient.Options) {
					if test.change != nil {
						test.change(o)
					}
				})
				_, _ = c.ReadResource(t.Context(), "a://1")
				time.Sleep(time.Minute)
				if test.fail != nil || name == "pin of server" {
					s.failWith(test.fail)
				}
				for range 2 {
					if r, err := c.ReadResource(t.Context(), "a://1", test.opts...); err == nil || len(*reports) > 0 {
						t.Errorf("got %v and %d reports, want the error", r, len(*reports))
					}
				}
			})
		})
	}
}

// failsLater is an Authorizer that has no credentials any more after a minute.
type failsLater struct{ began time.Time }

func (f *failsLater) Authorize(*http.Request) error {
	if f.began.IsZero() {
		f.began = time.Now()
	}
	if !time.Now().Before(f.began.Add(time.Minute)) {
		return errors.New("the sign-in has ended")
	}
	return nil
}

func (*failsLater) Challenged(*http.Request, *http.Response) error { return errors.New("no other") }

// A user who was refused gets nothing more when the server is gone.
func TestRefusedCredentialsEndTheUseOfStaleResults(t *testing.T) {
	claim.Shows(t, "R-267")
	synctest.Test(t, func(t *testing.T) {
		s := new(outageServer)
		c, reports := staleClient(t, s)
		read(t, c, "a://1")
		time.Sleep(time.Minute)
		s.failWith(status(401))
		_, _ = c.CallTool(t.Context(), "x", nil)
		s.failWith(nil)
		if r, err := c.ReadResource(t.Context(), "a://1"); err == nil || len(*reports) > 0 {
			t.Errorf("got %v, want the error", r)
		}
		s.fail.Store(nil)
		if got := read(t, c, "a://1"); got == "1" {
			t.Error("got the old result of a server that works")
		}
	})
}

func TestServerThatFailsIsAskedAgainWithBackOff(t *testing.T) {
	claim.Shows(t, "R-268b")
	synctest.Test(t, func(t *testing.T) {
		s := new(outageServer)
		c, _ := staleClient(t, s)
		read(t, c, "a://1")
		s.failWith(status(503))
		time.Sleep(time.Minute)
		before := s.reads.Load()
		var gaps []time.Duration
		last := time.Now()
		for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(100 * time.Millisecond) {
			if read(t, c, "a://1"); s.reads.Load() != before {
				before = s.reads.Load()
				gaps = append(gaps, time.Since(last))
				last = time.Now()
			}
		}
		if len(gaps) < 10 || len(gaps) > 20 || slices.Max(gaps) < time.Minute || slices.Max(gaps) > 76*time.Second {
			t.Errorf("got requests after %v, want pauses that grow up to a minute with jitter", gaps)
		}
	})
}

func TestStaleResultIsUsedWhenTheConnectionIsLost(t *testing.T) {
	claim.Shows(t, "R-271")
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		servers, _ := serve(t, stateless(counting(aMinute)))
		target := mcpclient.Dial(func(context.Context) (mcp.Conn, error) {
			if gone.Load() {
				return nil, errors.New("connection refused")
			}
			return servers.open(), nil
		})
		c := connect(t, target, &mcpclient.Options{Cache: mcpclient.CacheOptions{StaleIfError: time.Hour}})
		asked(t, c)
		gone.Store(true)
		_ = servers.nth(0).conn.Close()
		synctest.Wait()
		if got := asked(t, c); got != first {
			t.Errorf("got %s, want the stale results", got)
		}
		gone.Store(false)
		time.Sleep(time.Minute)
		asked(t, c)
		if got := len(servers.nth(1).messages(mcp.MethodToolsList)); got != 1 {
			t.Errorf("the next server got %d requests, want 1", got)
		}
	})
}

func TestStaleResultIsNotUsedAfterAChange(t *testing.T) {
	claim.Shows(t, "R-270")
	for name, store := range map[string]mcp.Store{"memory": nil, "store": new(mcpserver.MemoryStore)} {
		synctest.Test(t, func(t *testing.T) {
			var failing atomic.Bool
			servers, target := serve(t, stateless(func(s *script, m message) string {
				if failing.Load() {
					return m.fail(-32603, "it failed", "")
				}
				return counting(aMinute)(s, m)
			}))
			o := sharing(store)
			o.Cache.StaleIfError = time.Hour
			c := connect(t, target, o)
			read(t, c, "a://1")
			servers.nth(0).send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://1"}}`)
			synctest.Wait()
			failing.Store(true)
			if r, err := c.ReadResource(t.Context(), "a://1"); err == nil {
				t.Errorf("%s: got %v, want the error", name, r)
			}
		})
	}
}

// A client that starts while the server is gone has what another process has stored.
func TestStaleResultOfAnotherProcessIsUsed(t *testing.T) {
	claim.Shows(t, "R-271")
	synctest.Test(t, func(t *testing.T) {
		s, store := new(outageServer), new(mcpserver.MemoryStore)
		shared := func(o *mcpclient.Options) {
			cache := sharing(store).Cache
			cache.StaleIfError, cache.OnStale = o.Cache.StaleIfError, o.Cache.OnStale
			o.Cache, o.Prior, o.HTTP.Auth = cache, statelessPrior(), withToken("a")
		}
		one, _ := staleClient(t, s, shared)
		read(t, one, "a://1") // has the token known
		read(t, one, "a://1")
		time.Sleep(time.Minute)
		s.failWith(nil)
		two, reports := staleClient(t, s, shared)
		if got := read(t, two, "a://1"); got != "2" || len(*reports) != 1 {
			t.Errorf("got %q and %d reports, want the result of the other client", got, len(*reports))
		}
	})
}
