package proxies_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// access is how a client reaches a deployment.
type access struct {
	name     string
	path     string
	revision mcp.Revision
	// anywhere says that any replica serves any request, unless the proxy has affinity.
	anywhere bool
}

var accesses = []access{
	{"2024-11-05 over HTTP+SSE", "/sse", mcp.V20241105, false},
	{"2025-03-26", "/mcp", mcp.V20250326, true},
	{"2025-06-18", "/mcp", mcp.V20250618, true},
	{"2025-11-25", "/mcp", mcp.V20251125, true},
	{"2026-07-28", "/mcp", mcp.V20260728, true},
}

// connect connects a client that does not open its session again.
func (d *deployment) connect(t *testing.T, a access, c *http.Client) *mcpclient.Client {
	t.Helper()
	return mcptest.Connect(t, mcpclient.URL(d.url+a.path), &mcpclient.Options{
		Revisions: []mcp.Revision{a.revision}, NoRestart: true, HTTP: mcpclient.HTTPOptions{Client: c},
	})
}

// testProxies runs a test with every proxy that is installed.
func testProxies(t *testing.T, test func(*testing.T, *deployment)) {
	for _, p := range proxies {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, p.start(t))
		})
	}
}

// A failure here means that a configuration of deploy does not do what docs/deployment.md says.
func TestEveryRevisionWorksBehindTheProxies(t *testing.T) {
	t.Parallel()
	testProxies(t, func(t *testing.T, d *deployment) {
		for _, a := range accesses {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				c := d.connect(t, a, d.client)
				tools := 0
				for _, err := range c.Tools(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					tools++
				}
				if tools != 2 {
					t.Errorf("got %d tools, want two", tools)
				}
				d.checkReplicas(t, a, c)
				checkProgress(t, c)
			})
		}
	})
}

// checkReplicas checks how many replicas serve the requests of a client.
func (d *deployment) checkReplicas(t *testing.T, a access, c *mcpclient.Client) {
	t.Helper()
	seen := make(map[int]bool)
	for range 24 {
		pid, err := c.Call[int](t.Context(), "pid", nil)
		if err != nil {
			t.Fatal(err)
		}
		seen[pid] = true
	}
	anywhere := a.anywhere && (!d.affinity || a.revision == mcp.V20260728)
	if len(seen) == 1 == anywhere {
		t.Errorf("got answers of %d replicas, want those of several: %v", len(seen), anywhere)
	}
}

// checkProgress checks that progress reaches a client while its call runs: the call ends after the
// client has seen it.
func checkProgress(t *testing.T, c *mcpclient.Client) {
	t.Helper()
	arrived := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-arrived:
			fmt.Fprint(w, "arrived")
		case <-r.Context().Done():
		case <-time.After(2 * time.Minute):
			fmt.Fprint(w, "no progress has arrived")
		}
	}))
	defer web.Close()
	seen := sync.OnceFunc(func() { close(arrived) })
	got, err := c.Call[string](t.Context(), "wait", waitArgs{web.URL, true}, mcpclient.WithProgress(func(mcp.ProgressParams) { seen() }))
	if err != nil || got != "arrived" {
		t.Errorf("got %q, %v, want progress before the end of the call", got, err)
	}
}

// The server says nothing for longer than the proxies allow, except its comments. A client that has
// lost its stream would open another one, so the streams are counted.
func TestSilentCallsAreNotCutByTheProxies(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(9 * time.Second): // the proxies cut after 6 s
			fmt.Fprint(w, "done")
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(web.Close)
	testProxies(t, func(t *testing.T, d *deployment) {
		var calls sync.WaitGroup
		defer calls.Wait()
		for _, a := range accesses {
			for _, progress := range []bool{false, true} {
				watched := &streams{next: d.client.Transport}
				c := d.connect(t, a, &http.Client{Transport: watched})
				calls.Go(func() {
					before := watched.resumed.Load()
					got, err := c.Call[string](t.Context(), "wait", waitArgs{web.URL, progress}, mcpclient.WithProgress(func(mcp.ProgressParams) {}))
					if resumed := watched.resumed.Load() - before; err != nil || got != "done" || resumed != 0 {
						t.Errorf("%s, progress %v: got %q, %v, %d resumed streams, want the result over one", a.name, progress, got, err, resumed)
					}
				})
			}
		}
	})
}

// streams counts the requests that resume a stream.
type streams struct {
	next    http.RoundTripper
	resumed atomic.Int64
}

func (s *streams) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Last-Event-ID") != "" {
		s.resumed.Add(1)
	}
	return s.next.RoundTrip(r)
}

// mayFail reports whether a call may fail in this way while a replica closes its port.
func (d *deployment) mayFail(err error) bool {
	failed, ok := errors.AsType[*mcpclient.HTTPError](err)
	return ok && d.noHealthCheck && failed.Status == http.StatusBadGateway
}

// failures counts the responses that a proxy or a server gives when it cannot serve, and the requests
// without one.
type failures struct {
	next http.RoundTripper

	mu   sync.Mutex
	seen []string // guarded by mu
}

func (f *failures) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := f.next.RoundTrip(r)
	if r.Context().Err() == nil && (err != nil || answer.StatusCode >= 400 && answer.StatusCode != http.StatusMethodNotAllowed) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.seen = append(f.seen, fmt.Sprintf("%s %s: %v, %v", r.Method, r.URL, answer, err))
	}
	return answer, err
}

// servers collects which replicas have served.
type servers struct {
	want int           // how many there are
	all  chan struct{} // closed when all have served

	mu   sync.Mutex
	pids map[int]bool // guarded by mu
}

func (s *servers) add(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pids == nil {
		s.pids = make(map[int]bool)
	}
	if s.pids[pid] {
		return
	}
	s.pids[pid] = true
	if len(s.pids) == s.want {
		close(s.all)
	}
}

// Clients call all the time while a replica ends as an orchestrator ends it.
func TestReplicaLeavesTheProxiesWithoutAFailedCall(t *testing.T) {
	t.Parallel()
	testProxies(t, func(t *testing.T, d *deployment) {
		watched := &failures{next: d.client.Transport}
		ended, stop := context.WithCancel(t.Context())
		var work sync.WaitGroup
		var calls atomic.Int64
		serving := servers{want: len(d.replicas), all: make(chan struct{})}
		for _, a := range accesses[1:] {
			c := d.connect(t, a, &http.Client{Transport: watched})
			work.Go(func() {
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for more := 50; more > 0; <-tick.C { // calls after the end, which the proxy may send to that replica
					pid, err := c.Call[int](t.Context(), "pid", nil)
					if err != nil && !d.mayFail(err) {
						t.Errorf("%s: call %d: %v", a.name, calls.Load(), err)
						return
					}
					calls.Add(1)
					if err == nil {
						serving.add(pid)
					}
					if ended.Err() != nil {
						more--
					}
				}
			})
		}
		over := make(chan struct{}) // closed when all clients have ended
		go func() {
			work.Wait()
			close(over)
		}()
		select {
		case <-serving.all:
			d.replicas[1].Stop()
		case <-over: // because of failed calls
		}
		stop()
		<-over
		watched.mu.Lock()
		defer watched.mu.Unlock()
		most := 0
		if d.noHealthCheck {
			most = len(accesses) - 1 // the request that each client has in flight
		}
		if len(watched.seen) > most {
			t.Errorf("got failed requests among %d calls, want at most %d: %s", calls.Load(), most, watched.seen)
		}
	})
}
