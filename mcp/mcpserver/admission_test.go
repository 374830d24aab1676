package mcpserver_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// limitsTold collects what OnLimit is told.
type limitsTold struct {
	mu     sync.Mutex
	limits []mcp.LimitReached
}

func (l *limitsTold) hear(e mcp.LimitReached) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limits = append(l.limits, e)
}

func (l *limitsTold) of(limit mcp.Limit) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.limits {
		if e.Limit == limit {
			n++
		}
	}
	return n
}

// postCall sends a call of the stateless era from an address to one, and returns the
// response.
func postCall(by *mcp.Identity, s *mcpserver.Server, method, name, params, from, to string) *http.Response {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, method, params)
	r := httptest.NewRequest("POST", "http://localhost/", strings.NewReader(body))
	r.RemoteAddr = from
	local, _ := net.ResolveTCPAddr("tcp", to)
	ctx := context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local))
	if by != nil {
		ctx = mcp.WithIdentity(ctx, by)
	}
	r = r.WithContext(ctx)
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method},
	}
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	w := httptest.NewRecorder()
	s.HTTPHandler().ServeHTTP(w, r)
	return w.Result()
}

func callFrom(s *mcpserver.Server, from, to string) *http.Response { return callBy(nil, s, from, to) }

func callBy(by *mcp.Identity, s *mcpserver.Server, from, to string) *http.Response {
	return postCall(by, s, "tools/call", "hold", `"name":"hold","arguments":{}`, from, to)
}

const loopback, remote = "127.0.0.1:80", "192.0.2.1:80"

// holding returns a server with a tool that runs until let go.
func holding(load *mcpserver.LoadOptions, l *limitsTold) (s *mcpserver.Server, letGo func()) {
	gate := make(chan struct{})
	s = mcpserver.New("s", "1", &mcpserver.Options{
		Load: load, OnLimit: l.hear, Logger: slog.New(slog.DiscardHandler),
	})
	s.Tool("hold", "Holds", func(context.Context, struct{}) (string, error) {
		<-gate
		return "done", nil
	})
	return s, sync.OnceFunc(func() { close(gate) })
}

func TestCallsBeyondTheLimitAreRefusedWithARetryAfter(t *testing.T) {
	t.Parallel()
	ann := &mcp.Identity{Principal: mcp.Principal{Issuer: "i", Subject: "ann"}}
	for _, tt := range []struct {
		name   string
		load   mcpserver.LoadOptions
		by     *mcp.Identity
		status int
		limit  mcp.Limit
		retry  string
	}{
		{"all together", mcpserver.LoadOptions{MaxCalls: 1}, nil, 503, mcp.LimitCalls, "5"},
		{"one principal", mcpserver.LoadOptions{ShareCalls: 1}, ann, 429, mcp.LimitCallsShare, "1"},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := new(limitsTold)
			s, letGo := holding(&tt.load, l)
			first := make(chan *http.Response, 1)
			go func() { first <- callBy(tt.by, s, loopback, loopback) }()
			synctest.Wait()
			begun := time.Now()
			refused := callBy(tt.by, s, loopback, loopback)
			if refused.StatusCode != tt.status || refused.Header.Get("Retry-After") != tt.retry || l.of(tt.limit) != 1 {
				t.Errorf("%s: got HTTP %d, Retry-After %q, %v told, want %d, %s, %s", tt.name, refused.StatusCode, refused.Header.Get("Retry-After"), l.limits, tt.status, tt.retry, tt.limit)
			}
			if waited := time.Since(begun); waited != 2*time.Second {
				t.Errorf("%s: waited %v, want 2s", tt.name, waited)
			}
			letGo()
			if r := <-first; r.StatusCode != http.StatusOK {
				t.Errorf("%s: the first call: got HTTP %d, want 200", tt.name, r.StatusCode)
			}
			if r := callBy(tt.by, s, loopback, loopback); r.StatusCode != http.StatusOK {
				t.Errorf("%s: a later call: got HTTP %d, want 200", tt.name, r.StatusCode)
			}
		})
	}
}

func TestRunningCallsOfOneConnectionAreLimitedAndPingsAreNotCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := new(limitsTold)
		s, letGo := holding(&mcpserver.LoadOptions{ShareCalls: 1, MaxWait: -1}, l)
		greedy, modest := connectTo(t, s), connectTo(t, s)
		running := make(chan error, 2)
		for _, c := range []*mcpclient.Client{greedy, modest} {
			go func() {
				_, err := c.CallTool(t.Context(), "hold", nil)
				running <- err
			}()
			synctest.Wait()
		}
		_, err := greedy.CallTool(t.Context(), "hold", nil)
		if mcp.CodeOf(err) != mcp.CodeRateLimited || l.of(mcp.LimitCallsShare) != 1 {
			t.Errorf("got %v, told %v, want one refused for its share", err, l.limits)
		}
		letGo()
		for range 2 {
			if err := <-running; err != nil {
				t.Errorf("a call within the share: %v", err)
			}
		}
	})
}

func connectTo(t *testing.T, s *mcpserver.Server) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestCallsOfToolsAreRateLimitedBeyondTheLoopbackInterface(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := new(limitsTold)
		s, letGo := holding(&mcpserver.LoadOptions{ToolRate: mcp.Rate{PerSecond: 1, Burst: 2}}, l)
		letGo()
		statuses := func(from, to string) (got []int) {
			for range 3 {
				got = append(got, callFrom(s, from, to).StatusCode)
			}
			return got
		}
		if got := fmt.Sprint(statuses("198.51.100.1:1", remote)); got != "[200 200 429]" || l.of(mcp.LimitToolRate) != 1 {
			t.Errorf("one address: got %s, told %v, want the third refused", got, l.limits)
		}
		if got := fmt.Sprint(statuses("198.51.100.2:1", remote)); got != "[200 200 429]" {
			t.Errorf("another address: got %s, want a rate of its own", got)
		}
		if got := fmt.Sprint(statuses(loopback, loopback)); got != "[200 200 200]" {
			t.Errorf("over loopback: got %s, want no limit", got)
		}
		time.Sleep(time.Second)
		if r := callFrom(s, "198.51.100.1:1", remote); r.StatusCode != 200 {
			t.Errorf("a second later: got HTTP %d, want 200", r.StatusCode)
		}
	})
}

func TestCompletionIsLimited(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-246b", "R-249c")
	synctest.Test(t, func(t *testing.T) {
		l := new(limitsTold)
		s := mcpserver.New("s", "1", &mcpserver.Options{OnLimit: l.hear, Logger: slog.New(slog.DiscardHandler)})
		s.AddPrompt(mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a"}}}, func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) {
			return &mcp.GetPromptResult{}, nil
		}, mcpserver.CompleteArg("a", mcpserver.Prefix("x")))
		c := connectTo(t, s)
		complete := func() error {
			return c.Request(t.Context(), mcp.MethodComplete, &mcp.CompleteParams{
				Ref: mcp.Reference{Type: mcp.RefPrompt, Name: "p"}, Argument: mcp.CompleteArgument{Name: "a"},
			}, nil)
		}
		for i := range 100 {
			if err := complete(); err != nil {
				t.Fatalf("completion %d: %v", i, err)
			}
		}
		if err := complete(); mcp.CodeOf(err) != mcp.CodeRateLimited || l.of(mcp.LimitCompletionRate) != 1 {
			t.Errorf("the 101st at once: got %v, told %v, want it refused", err, l.limits)
		}
		time.Sleep(20 * time.Millisecond)
		if err := complete(); err != nil {
			t.Errorf("20 ms later: %v", err)
		}
	})
}

func TestRateOfAToolIsLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := new(limitsTold)
		s := mcpserver.New("s", "1", &mcpserver.Options{OnLimit: l.hear, Logger: slog.New(slog.DiscardHandler)})
		s.Tool("rare", "Rare", func(context.Context, struct{}) (string, error) { return "", nil }, mcpserver.Rate(1, 1))
		c := connectTo(t, s)
		if _, err := c.CallTool(t.Context(), "rare", nil); err != nil {
			t.Fatal(err)
		}
		_, err := c.CallTool(t.Context(), "rare", nil)
		if mcp.CodeOf(err) != mcp.CodeRateLimited || l.of(mcp.LimitOneTool) != 1 {
			t.Errorf("the second call: got %v, told %v, want it refused", err, l.limits)
		}
		time.Sleep(time.Second)
		if _, err := c.CallTool(t.Context(), "rare", nil); err != nil {
			t.Errorf("a second later: %v", err)
		}
	})
}

func TestRateOfAToolIsThatOfEachOwner(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	for _, test := range []struct {
		name        string
		first, next *mcp.Identity
		from, to    string // the addresses of their clients
		server      string
		want        int
	}{
		{"two principals of one address", ann, bob, "198.51.100.1:1", "198.51.100.1:1", remote, 200},
		{"one principal from two addresses", ann, ann, "198.51.100.1:1", "198.51.100.2:1", remote, 429},
		{"two addresses", nil, nil, "198.51.100.1:1", "198.51.100.2:1", remote, 200},
		{"two connections of one address", nil, nil, "198.51.100.1:1", "198.51.100.1:2", remote, 429},
		{"two connections on loopback", nil, nil, "127.0.0.1:1", "127.0.0.1:2", loopback, 200},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(nil)
			s.Tool("hold", "", nothing, mcpserver.Rate(1, 2))
			for range 3 {
				callBy(test.first, s, test.from, test.server)
			}
			if r := callBy(test.next, s, test.to, test.server); r.StatusCode != test.want {
				t.Errorf("%s: got %d, want %d", test.name, r.StatusCode, test.want)
			}
		})
	}
}

func TestMemoryStoreRefusesValuesThatOtherStoresRefuse(t *testing.T) {
	t.Parallel()
	var s mcpserver.MemoryStore
	if err := s.Put(t.Context(), "k", make([]byte, 1<<20), 0); err != nil {
		t.Errorf("1 MiB: %v", err)
	}
	if err := s.Put(t.Context(), "k", make([]byte, 1<<20+1), 0); err == nil {
		t.Error("a byte more is taken")
	}
}

func TestSubscribingIsRateLimitedBeyondTheLoopbackInterface(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(&mcpserver.Options{Load: &mcpserver.LoadOptions{SubscriptionRate: mcp.Rate{PerSecond: 1, Burst: 2}}})
		srv.Template("note://{part}", "note", "", anything)
		statuses := func(address, local string) (got []int) {
			s := &sender{t: t, handler: listeningAt(local, srv.HTTPHandler()), address: address}
			s.open()
			for i := range 3 {
				status, _ := s.subscribe(i, fmt.Sprint("note://", i))
				got = append(got, status)
			}
			return got
		}
		for _, test := range []struct{ address, local, want string }{
			{"198.51.100.1:1", remote, "[200 200 429]"}, {"198.51.100.2:1", remote, "[200 200 429]"}, {loopback, loopback, "[200 200 200]"},
		} {
			if got := fmt.Sprint(statuses(test.address, test.local)); got != test.want {
				t.Errorf("%s: got %s, want %s", test.address, got, test.want)
			}
		}
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// listeningAt returns a handler whose server listens at an address.
func listeningAt(address string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var local net.Addr = net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local)))
	})
}
