package integration_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/internal/testdir"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// addends are the arguments of the fixture's tool add, and sum is its result.
type (
	addends struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	sum struct {
		Sum int `json:"sum"`
	}
)

// serveEnv makes the test binary a server over stdio.
const serveEnv = "INTEGRATION_SERVE_STDIO"

func TestMain(m *testing.M) {
	if os.Getenv(serveEnv) != "" {
		mcpserver.Main(newFixture(nil))
		return
	}
	if steps := os.Getenv(replicaEnv); steps != "" {
		mcpserver.Main(newReplica(steps))
		return
	}
	testdir.Prepare()
	leak.Main(m)
}

// newFixture returns a new fixture that logs nothing.
func newFixture(o *mcpserver.Options) *mcpserver.Server {
	if o == nil {
		o = new(mcpserver.Options)
	}
	o.Logger = slog.New(slog.DiscardHandler)
	return mcptest.NewServer(o)
}

// transports are the ways from a client to the fixture, by name.
var transports = map[string]func(t *testing.T) mcpclient.Target{
	"memory": func(t *testing.T) mcpclient.Target { return inMemory(t, newFixture(nil)) },
	"stdio": func(t *testing.T) mcpclient.Target {
		c := mcpclient.Command(os.Args[0])
		c.Env = map[string]string{serveEnv: "1"}
		return c
	},
	"socket": func(t *testing.T) mcpclient.Target {
		path := filepath.Join(t.TempDir(), "mcp.sock")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- newFixture(nil).ServeSocket(ctx, l) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("serve the socket: %v", err)
			}
		})
		return mcpclient.Socket("unix", path)
	},
	"http": func(t *testing.T) mcpclient.Target {
		s := newFixture(nil)
		return mcpclient.URL(serveHTTP(t, s, s.HTTPHandler()))
	},
	"http as streams": func(t *testing.T) mcpclient.Target {
		s := newFixture(&mcpserver.Options{HTTP: &mcpserver.HTTPOptions{ResponseMode: mcpserver.ResponseStream}})
		return mcpclient.URL(serveHTTP(t, s, s.HTTPHandler()))
	},
	"http+sse": func(t *testing.T) mcpclient.Target {
		s := newFixture(nil)
		return mcpclient.URL(serveHTTP(t, s, s.EventStreamHandler()))
	},
}

// inMemory is the way to a server over connections on which both sides have to
// send what is valid.
func inMemory(t *testing.T, s mcpclient.Server) mcpclient.Target {
	return mcpclient.Dial(func(context.Context) (mcp.Conn, error) {
		return mcptest.CheckWire(t, mcptest.Dial(t, s), mcptest.Client, mcptest.CheckOnly(mcptest.Client)), nil
	})
}

// A failure here means that a client and a server of ours cannot do over this
// transport, in this revision, what the protocol lets them.
func TestEveryTransportAndRevisionConnects(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-003", "R-004", "R-012", "R-013", "R-014", "R-015a", "R-015b", "R-073", "R-087", "R-088a")
	for name, transport := range transports {
		for _, v := range mcp.Revisions() {
			if name == "http+sse" && v == mcp.V20260728 {
				continue // not legal: see TestTheStatelessEraIsRefusedOverHTTPSSE
			}
			t.Run(name+"/"+v.String(), func(t *testing.T) {
				t.Parallel()
				mcptest.TestTransport(t, transport(t), v)
			})
		}
	}
}

// The one cell that is not legal.
func TestTheStatelessEraIsRefusedOverHTTPSSE(t *testing.T) {
	t.Parallel()
	to := serveEventStream(t, newFixture(nil))
	_, err := mcpclient.Connect(t.Context(), to.target, &mcpclient.Options{
		Revisions: []mcp.Revision{mcp.V20260728}, HTTP: mcpclient.HTTPOptions{Client: to.web},
	})
	if err == nil || !strings.Contains(err.Error(), "HTTP+SSE: Options.Revisions has only 2026-07-28") {
		t.Errorf("our client: got %v, want it to name the revision", err)
	}
	c, err := connectRaw(t.Context(), t, wire{revision: mcp.V20260728}, to)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.call(1, "add", addends{A: 1, B: 2}); err != nil {
		t.Fatal(err)
	}
	m, err := c.reply("1")
	if err != nil {
		t.Fatal(err)
	}
	if want := `["2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`; m.Error == nil || m.Error.Code != -32022 || string(m.Error.Data.Supported) != want {
		t.Errorf("our server: got %+v, want -32022 and %s", m.Error, want)
	}
}

func TestEachRevisionConnectsInEachRevision(t *testing.T) {
	t.Parallel()
	var spoken []mcp.Revision
	mcptest.EachRevision(t, newFixture(nil), func(t *testing.T, c *mcpclient.Client) {
		sum, err := c.Call[sum](t.Context(), "add", addends{A: 40, B: 2})
		if err != nil || sum.Sum != 42 {
			t.Errorf("got %+v, %v", sum, err)
		}
		spoken = append(spoken, c.Revision())
	})
	if len(spoken) != len(mcp.Revisions()) {
		t.Errorf("spoke %v, want every revision", spoken)
	}
}

func serveHTTP(t *testing.T, s *mcpserver.Server, h http.Handler, opts ...mcptest.CheckOption) string {
	t.Helper()
	web := httptest.NewServer(mcptest.CheckHandler(t, h, opts...))
	t.Cleanup(func() {
		if err := s.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		web.Close()
	})
	return web.URL
}
