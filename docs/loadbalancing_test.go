package docs_test

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/handles"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// balancer sends each request to the next replica. With affinity it sends the requests of a
// session to the replica that has opened it.
type balancer struct {
	affinity bool
	replicas []http.Handler

	mu       sync.Mutex
	next     int            // guarded by mu
	sessions map[string]int // guarded by mu: the replica of each session
}

const sessionHeader = "Mcp-Session-Id"

// newBalancer returns the URL of a balancer before replicas.
func newBalancer(t *testing.T, affinity bool, replicas ...*mcpserver.Server) string {
	t.Helper()
	b := &balancer{affinity: affinity, sessions: make(map[string]int)}
	for i, srv := range replicas {
		address, err := url.Parse(mcptest.HTTP(t, srv.HTTPHandler()))
		if err != nil {
			t.Fatal(err)
		}
		b.replicas = append(b.replicas, &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(address)
				r.SetXForwarded()
				r.Out.Host = r.In.Host
			},
			FlushInterval: -1, // event streams must not be buffered
			ModifyResponse: func(r *http.Response) error {
				b.learn(r.Header.Get(sessionHeader), i)
				return nil
			},
		})
	}
	return mcptest.HTTP(t, b)
}

func (b *balancer) learn(session string, replica int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if session != "" {
		b.sessions[session] = replica
	}
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	replica, known := b.sessions[r.Header.Get(sessionHeader)]
	if !b.affinity || !known {
		replica = b.next % len(b.replicas)
		b.next++
	}
	b.mu.Unlock()
	b.replicas[replica].ServeHTTP(w, r)
}

type seat struct {
	Row int `json:"row"`
}

type basket struct {
	Handle string `json:"handle"`
}

// newReplica returns one replica of a server, with what all replicas share.
func newReplica(name string, o *mcpserver.Options) *mcpserver.Server {
	srv := mcpserver.New("airline", "1.0.0", o)
	srv.Tool("replica", "Names the replica", func(context.Context, struct{}) (string, error) { return name, nil })
	srv.Tool("book", "Books a seat", func(ctx context.Context, _ struct{}) (seat, error) {
		return mcpserver.Ask[seat](ctx, "seat", "Which row?")
	})
	baskets := handles.New[seat](&handles.Options{Prefix: "basket_"})
	srv.Tool("keep", "Keeps a seat", func(ctx context.Context, in seat) (basket, error) {
		handle, err := baskets.New(ctx, in)
		return basket{handle}, err
	})
	srv.Tool("kept", "Returns a seat that is kept", func(ctx context.Context, in basket) (seat, error) {
		return baskets.Get(ctx, in.Handle)
	})
	return srv
}

func newReplicas() (one, two *mcpserver.Server) {
	secret := []byte("a secret of 32 bytes for the test")
	store := new(mcpserver.MemoryStore)
	bus := new(mcpserver.MemoryBus)
	options := func() *mcpserver.Options {
		return &mcpserver.Options{
			Keys:  []mcpserver.Key{{ID: "2026-11", Secret: secret}},
			Store: store,
			Bus:   bus,
		}
	}
	return newReplica("one", options()), newReplica("two", options())
}

func replicasSeen(t *testing.T, c *mcpclient.Client) (seen map[string]bool, err error) {
	t.Helper()
	seen = make(map[string]bool)
	for range 4 {
		name, err := c.Call[string](t.Context(), "replica", nil)
		if err != nil {
			return seen, err
		}
		seen[name] = true
	}
	return seen, nil
}

func TestStatelessRevisionUsesAnyReplica(t *testing.T) {
	t.Parallel()
	one, two := newReplicas()
	c := mcptest.Connect(t, mcpclient.URL(newBalancer(t, false, one, two)), nil)
	if seen, err := replicasSeen(t, c); err != nil || len(seen) != 2 {
		t.Errorf("got answers of %v, %v, want those of both replicas", seen, err)
	}
	for range 2 {
		mcptest.Answer(c, "seat", seat{4})
		if got, err := c.Call[seat](t.Context(), "book", nil); err != nil || got != (seat{4}) {
			t.Errorf("got %+v, %v, want the answer that another replica has asked for", got, err)
		}
	}
}

func TestHandlesAreKnownToAllReplicasOfAStore(t *testing.T) {
	t.Parallel()
	one, two := newReplicas()
	c := mcptest.Connect(t, mcpclient.URL(newBalancer(t, false, one, two)), nil)
	kept, err := c.Call[basket](t.Context(), "keep", seat{7})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := c.Call[seat](t.Context(), "kept", kept); err != nil || got != (seat{7}) {
			t.Errorf("got %+v, %v, want the seat", got, err)
		}
	}
}

func TestSessionsAreServedByAnyReplica(t *testing.T) {
	t.Parallel()
	for _, v := range []mcp.Revision{mcp.V20250326, mcp.V20250618, mcp.V20251125} {
		one, two := newReplicas()
		c := mcptest.Connect(t, mcpclient.URL(newBalancer(t, false, one, two)), &mcpclient.Options{Revisions: []mcp.Revision{v}, NoRestart: true})
		if seen, err := replicasSeen(t, c); err != nil || len(seen) != 2 {
			t.Errorf("%s: got answers of %v, %v, want those of both replicas", v, seen, err)
		}
	}
}

func TestAffinityKeepsSessionsOnOneReplica(t *testing.T) {
	t.Parallel()
	for _, v := range []mcp.Revision{mcp.V20250326, mcp.V20250618, mcp.V20251125} {
		one, two := newReplicas()
		c := mcptest.Connect(t, mcpclient.URL(newBalancer(t, true, one, two)), &mcpclient.Options{Revisions: []mcp.Revision{v}})
		if seen, err := replicasSeen(t, c); err != nil || len(seen) != 1 {
			t.Errorf("%s: got answers of %v, %v, want those of one replica", v, seen, err)
		}
	}
}

func TestServerBehindABalancerNeedsItsPublicName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		options *mcpserver.HTTPOptions
		want    int
	}{
		{nil, http.StatusForbidden},
		{&mcpserver.HTTPOptions{AllowedHosts: []string{"mcp.example.com"}}, http.StatusMethodNotAllowed},
	} {
		address := newBalancer(t, false, newReplica("one", &mcpserver.Options{HTTP: test.options}))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "mcp.example.com"
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != test.want {
			t.Errorf("%+v: got %s, want %d", test.options, response.Status, test.want)
		}
	}
}

// TestTestsOfTheLoadBalancingPageExist looks for the tests that the page names.
func TestTestsOfTheLoadBalancingPageExist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(readPage(t, "load-balancing.md"), -1)
	if len(named) < 8 {
		t.Fatalf("got %d tests, want one for each claim", len(named))
	}
	code := sourceOf(t, func(name string) bool { return isTest.MatchString(name) })
	for _, name := range named {
		if !regexp.MustCompile(`func ` + name[1] + `\(`).MatchString(code) {
			t.Errorf("there is no test %s", name[1])
		}
	}
}

var isTest = regexp.MustCompile(`_test\.go$`)
