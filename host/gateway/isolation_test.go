package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// sessionTarget creates a server for each connection, as a process per connection does:
// they share no state.
type sessionTarget struct {
	revision mcp.Revision
	make     func(*mcpserver.Options) *mcpserver.Server

	mu     sync.Mutex
	served int
	live   int
}

func (f *sessionTarget) Serve(ctx context.Context, conn mcp.Conn) error {
	f.count(1)
	defer f.count(-1)
	return f.make(&mcpserver.Options{Revisions: []mcp.Revision{f.revision}, Logger: quiet}).Serve(ctx, conn)
}

func (f *sessionTarget) count(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live += n
	f.served += max(n, 0)
}

func (f *sessionTarget) counts() (served, live int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.served, f.live
}

// recordingServer records words, reports each word as progress, and has the words as a
// resource.
func recordingServer(o *mcpserver.Options) *mcpserver.Server {
	srv := mcpserver.New("diary", "1", o)
	var mu sync.Mutex
	var words []string
	all := func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(words, " ")
	}
	srv.Tool("write", "Write", func(ctx context.Context, in struct {
		Word string `json:"word"`
	},
	) (string, error) {
		mu.Lock()
		words = append(words, in.Word)
		mu.Unlock()
		mcpserver.Progress(ctx, 1, 1, in.Word)
		srv.Updated("diary://words")
		return all(), nil
	})
	srv.Resource("diary://words", "Words", "text/plain", func(context.Context) ([]byte, error) { return []byte(all()), nil })
	return srv
}

// wordClient is a client that sends its own name, and records notifications.
type wordClient struct {
	*mcpclient.Client
	name string

	mu       sync.Mutex
	progress []string
	updates  int
}

func newWordClient(t *testing.T, g *gateway.Gateway, revision mcp.Revision, name string) *wordClient {
	t.Helper()
	return &wordClient{Client: mcptest.Connect(t, g.Server(), &mcpclient.Options{Revisions: []mcp.Revision{revision}, Logger: quiet}), name: name}
}

func (w *wordClient) write(t *testing.T) string {
	t.Helper()
	result, err := w.CallTool(t.Context(), "d__write", map[string]string{"word": w.name}, mcpclient.WithProgress(func(p mcp.ProgressParams) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.progress = append(w.progress, p.Message)
	}))
	if err != nil {
		t.Fatal(err)
	}
	return result.Content.Text()
}

// follow watches the resource until the test ends.
func (w *wordClient) follow(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	placed, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		first := sync.OnceFunc(func() { close(placed) })
		for _, err := range w.Watch(ctx, "diary://words") {
			if err != nil {
				t.Errorf("%s: %v", w.name, err)
				return
			}
			first()
			w.mu.Lock()
			w.updates++
			w.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	<-placed
}

func (w *wordClient) heard() (progress string, updates int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.progress, " "), w.updates - 1 // the first update confirms the subscription
}

// A session has a connection of its own, and so a state of its own. Nothing that belongs
// to it reaches another session.
func TestSessionsAreIsolated(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-406a", "R-406b", "R-412")
	for _, up := range []mcp.Revision{mcp.V20250326, mcp.V20251125} {
		for _, down := range []mcp.Revision{mcp.V20250326, mcp.V20251125} {
			t.Run(fmt.Sprintf("%s behind for %s", up, down), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := &sessionTarget{revision: up, make: recordingServer}
					g, _ := open(t, nil, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)})
					ada, bob := newWordClient(t, g, down, "ada"), newWordClient(t, g, down, "bob")
					ada.follow(t)
					bob.follow(t)
					if got := ada.write(t); got != "ada" {
						t.Errorf("got %q, want what ada wrote", got)
					}
					if got := ada.write(t); got != "ada ada" {
						t.Errorf("got %q, want the state of one session kept", got)
					}
					if got := bob.write(t); got != "bob" {
						t.Errorf("got %q, want what bob wrote", got)
					}
					time.Sleep(time.Second)
					for _, w := range []*wordClient{ada, bob} {
						progress, updates := w.heard()
						want := map[string]int{"ada": 2, "bob": 1}[w.name]
						if progress != strings.TrimSpace(strings.Repeat(w.name+" ", want)) || updates < 1 || updates > want {
							t.Errorf("%s: heard of progress %q and %d updates, want %d of its own", w.name, progress, updates, want)
						}
					}
				})
			})
		}
	}
}

// The end of a session ends its processes.
func TestConnectionOfASessionEndsWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &sessionTarget{revision: mcp.V20251125, make: recordingServer}
		g, _ := open(t, nil, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)})
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20250618}, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CallTool(t.Context(), "d__write", map[string]string{"word": "x"}); err != nil {
			t.Fatal(err)
		}
		if _, live := f.counts(); live != 2 || g.Status()[0].Callers != 1 {
			t.Errorf("got %d connections, %d of callers; want the shared one and one more", live, g.Status()[0].Callers)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, live := f.counts(); live != 1 || g.Status()[0].Callers != 0 {
			t.Errorf("got %d connections, %d of callers; want the shared one only", live, g.Status()[0].Callers)
		}
	})
}

// In the stateless era only the principal distinguishes callers.
func TestStatelessPrincipalsAreIsolated(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-412")
	synctest.Test(t, func(t *testing.T) {
		f := &sessionTarget{revision: mcp.V20251125, make: recordingServer}
		g, _ := open(t, nil, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)})
		as := func(subject string) *wordClient {
			s := serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: subject}}
			return &wordClient{Client: mcptest.Connect(t, s, &mcpclient.Options{Logger: quiet}), name: subject}
		}
		ada, again, bob := as("ada"), as("ada"), as("bob")
		ada.follow(t)
		bob.follow(t)
		ada.write(t)
		if got := again.write(t); got != "ada ada" {
			t.Errorf("got %q, want one state for one principal", got)
		}
		if got := bob.write(t); got != "bob" {
			t.Errorf("got %q, want another state for another principal", got)
		}
		time.Sleep(time.Second)
		if _, updates := bob.heard(); updates != 1 {
			t.Errorf("bob heard of %d updates, want that of his own", updates)
		}
		time.Sleep(time.Hour) // unused, but watched
		if _, live := f.counts(); live != 3 {
			t.Errorf("got %d connections, want those that are watched over kept", live)
		}
	})
}

// serveAs serves connections for one principal.
type serveAs struct {
	*mcpserver.Server
	principal mcp.Principal
}

func (s serveAs) Serve(ctx context.Context, conn mcp.Conn) error {
	return s.ServeConn(ctx, conn, mcpserver.ConnOptions{Identity: &mcp.Identity{Principal: s.principal}})
}

// Callers of a shared connection share its state. Messages of a call or a subscription
// reach only their own caller.
func TestSharedConnectionSeparatesCalls(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-406a", "R-406b")
	for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		t.Run(up.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &sessionTarget{revision: up, make: recordingServer}
				g, _ := open(t, nil, host.Upstream{Key: "d", Target: mcpclient.InProcess(f), Settings: host.Settings{Share: true}})
				ada, bob := newWordClient(t, g, mcp.V20250618, "ada"), newWordClient(t, g, mcp.V20260728, "bob")
				idle := newWordClient(t, g, mcp.V20251125, "idle")
				ada.follow(t)
				bob.follow(t)
				ada.write(t)
				if got := bob.write(t); got != "ada bob" {
					t.Errorf("got %q, want one state", got)
				}
				time.Sleep(time.Second)
				for _, w := range []*wordClient{ada, bob} {
					if progress, updates := w.heard(); progress != w.name || updates < 1 {
						t.Errorf("%s: heard of progress %q and %d updates, want its own progress, and the news of what it watches", w.name, progress, updates)
					}
				}
				if progress, updates := idle.heard(); progress != "" || updates != -1 {
					t.Errorf("idle: heard %q and %d updates, want nothing", progress, updates)
				}
				if served, _ := f.counts(); served != 1 {
					t.Errorf("got %d connections, want one", served)
				}
			})
		})
	}
}

// A log message of a session does not name its call, so it could reach another caller.
func TestLogMessagesOfASharedSessionReachNoCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := mcpserver.New("a", "1", &mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet})
		srv.Tool("talk", "Talk", func(ctx context.Context, _ struct{}) (string, error) {
			mcpserver.Log(ctx).Error("of the caller")
			return "", nil
		})
		_, c := open(t, nil, host.Upstream{Key: "a", Target: mcpclient.InProcess(srv), Settings: host.Settings{Share: true}})
		_, err := c.CallTool(t.Context(), "a__talk", nil, mcpclient.WithLog(func(m *mcp.LoggingMessageParams) {
			t.Errorf("got %s, want nothing that may be another's", m.Data)
		}))
		if err != nil {
			t.Error(err)
		}
	})
}

// Messages to and from one upstream are not sent to another.
func TestStateOfOneUpstreamReachesNoOther(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-361a", "R-361b")
	const canary = "canary-7f3a"
	wires := make(map[string]*wire)
	var upstreams []host.Upstream
	for _, key := range []string{"a", "b"} {
		srv := mcpserver.New(key, "1", &mcpserver.Options{Logger: quiet})
		srv.Tool("say", "Say", func(ctx context.Context, in struct {
			Text string `json:"text"`
		},
		) (string, error) {
			mcpserver.Progress(ctx, 1, 1, in.Text)
			return "said " + in.Text, nil
		})
		srv.Resource("res://"+key, key, "text/plain", func(context.Context) ([]byte, error) { return []byte(key), nil })
		w := &wire{server: srv}
		wires[key] = w
		upstreams = append(upstreams, host.Upstream{Key: key, Target: mcpclient.InProcess(w)})
	}
	_, c := open(t, nil, upstreams...)
	for _, name := range []string{"a__say", "b__say"} {
		text := canary
		if name == "b__say" {
			text = "nothing special"
		}
		if _, err := c.CallTool(t.Context(), name, map[string]string{"text": text}, mcpclient.WithProgress(func(mcp.ProgressParams) {})); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.ReadResource(t.Context(), "res://a"); err != nil {
		t.Fatal(err)
	}
	if !wires["a"].saw(canary) || wires["b"].saw(canary) || wires["b"].saw("res://a") {
		t.Errorf("got %v and %v, want the canary on one wire alone", wires["a"].saw(canary), wires["b"].saw(canary))
	}
}

// wire is a server whose messages are recorded.
type wire struct {
	server *mcpserver.Server
	mu     sync.Mutex
	lines  []string
}

func (w *wire) Serve(ctx context.Context, conn mcp.Conn) error {
	return w.server.Serve(ctx, tapped{conn, w})
}

func (w *wire) saw(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.lines, func(l string) bool { return strings.Contains(l, text) })
}

func (w *wire) keep(msg []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, string(msg))
}

type tapped struct {
	mcp.Conn
	wire *wire
}

func (t tapped) Read(ctx context.Context) ([]byte, error) {
	msg, err := t.Conn.Read(ctx)
	t.wire.keep(msg)
	return msg, err
}

func (t tapped) Write(ctx context.Context, msg []byte) error {
	t.wire.keep(msg)
	return t.Conn.Write(ctx, msg)
}
