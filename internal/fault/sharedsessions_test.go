//go:build unix && replicas

package fault_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
)

var killTime = flag.Duration("killtime", 25*time.Second, "how long replicas are killed, for each engine")

// sharedEngines are the engines that replicas share.
var sharedEngines = map[string]func(*testing.T) *testengine.Server{
	"redis":    func(t *testing.T) *testengine.Server { return testengine.Redis(t) },
	"nats":     func(t *testing.T) *testengine.Server { return testengine.NATS(t) },
	"postgres": func(t *testing.T) *testengine.Server { return testengine.Postgres(t) },
}

const (
	sharedReplicas = 3
	killEvery      = time.Second
)

// field is several replicas of a server behind a balancer, and their clients.
type field struct {
	*testing.T
	engine   *testengine.Server
	file     string // the ledger
	variable []string
	pool     *pool
	replicas []*process
	url      string
	callers  []*sharedCaller
	changes  *announcements
	raw      *pingedSession

	stop    chan struct{} // closed when the clients shall make no more calls
	ctx     context.Context
	cancel  context.CancelFunc // ends the subscriptions
	callEnd sync.WaitGroup
	watches sync.WaitGroup
}

// newReplicas starts the replicas and their balancer.
func newReplicas(t *testing.T, engine *testengine.Server) *field {
	f := &field{T: t, engine: engine, file: filepath.Join(t.TempDir(), "ledger"), stop: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(t.Context())
	t.Cleanup(f.cancel)
	if err := os.WriteFile(f.file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.variable = []string{"FAULT_TEST_FILE=" + f.file, "FAULT_TEST_ENGINE=" + engine.URL, "FAULT_TEST_LAME_DUCK=300ms"}
	f.pool = &pool{ready: make([]atomic.Pointer[string], sharedReplicas)}
	for i := range sharedReplicas {
		f.replicas = append(f.replicas, launch(t, "replica", f.variable...))
		f.pool.set(i, f.replicas[i].addr)
	}
	f.url = serveBalanced(t, f.pool)
	return f
}

// newField starts the replicas and clients of all revisions, which make calls without pause.
func newField(t *testing.T, engine *testengine.Server, repeats int) *field {
	f := newReplicas(t, engine)
	f.changes = newAnnouncements(t, f.file)
	f.raw = openPingedSession(t, f.url)
	for _, revision := range sharedRevisions {
		for i := range 2 {
			c := newSharedCaller(t, fmt.Sprintf("%s/%d", revision, i), f.url, revision)
			c.repeats = repeats
			f.callers = append(f.callers, c)
		}
	}
	return f
}

// begin has the clients make calls.
func (f *field) begin() {
	f.callEnd.Go(func() { f.raw.ping(f.ctx, f.stop) })
	by := newSharedCaller(f.T, "announcer", f.url, mcp.V20260728).client
	f.Cleanup(func() { _ = by.Close() })
	f.callEnd.Go(func() { f.changes.run(f.ctx, f.T, by, f.stop) })
	for _, c := range f.callers {
		f.callEnd.Go(func() { c.run(f.ctx, f.stop) })
		f.watches.Go(func() { f.changes.watch(f.ctx, c) })
	}
}

// replace ends a replica and starts another one in its place.
func (f *field) replace(i int, how syscall.Signal) {
	f.Helper()
	if err := f.replicas[i].kill(how); how == syscall.SIGTERM && err != nil {
		f.Errorf("replica %d: %v, want it to end in order", i, err)
	}
	f.replicas[i] = launch(f.T, "replica", f.variable...)
	f.pool.set(i, f.replicas[i].addr)
}

// killFor kills a random replica every second for some time.
func (f *field) killFor(d time.Duration) {
	f.Helper()
	kills := 0
	for end := time.Now().Add(d); time.Now().Before(end); kills++ {
		next := time.Now().Add(killEvery)
		f.replace(rand.N(sharedReplicas), syscall.SIGKILL)
		time.Sleep(time.Until(next))
	}
	f.Logf("%d replicas were killed within %v", kills, d)
}

// end stops the clients, checks what they have seen, and what is left in the engine.
func (f *field) end() {
	f.Helper()
	close(f.stop)
	f.callEnd.Wait()
	f.changes.check(f.T)
	f.cancel()
	f.watches.Wait()
	for _, c := range f.callers {
		if c.reopened > 0 {
			f.Errorf("%s: the session was lost %d times", c.name, c.reopened)
		}
		if err := c.client.Close(); err != nil {
			f.Errorf("%s: close: %v", c.name, err)
		}
	}
	f.raw.checkEnd(f.T, sharedReplicas)
	checkCalls(f.T, f.callers, f.file)
	f.checkKeys()
}

// checkNoneFailed checks that all calls were answered. In HTTP+SSE, a call that was sent while its
// connection ended may be lost if it has not run.
func (f *field) checkNoneFailed() {
	f.Helper()
	done := readLedger(f.T, f.file)
	for _, c := range f.callers {
		for _, end := range c.calls {
			crossed := c.endsWithReplica() && end.outcome == cut && done[end.line] == 0
			if end.outcome != right && !crossed {
				f.Errorf("%s of %s failed: %v", end.tool, end.line, end.err)
			}
		}
	}
}

// checkKeys waits until the engine has no more than the ends of sessions and the lives of replicas.
func (f *field) checkKeys() {
	f.Helper()
	shared, err := openEngine(f.Context(), f.engine.URL, quiet)
	if err != nil {
		f.Fatal(err)
	}
	defer shared.Close()
	var left map[string]int
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		keys, err := shared.List(f.Context(), "", "", 100000)
		if err != nil {
			f.Fatal(err)
		}
		left = make(map[string]int)
		for _, key := range keys {
			left[kindOfKey(key)]++
		}
		if left["session"] <= len(f.callers)+1 && left["alive"] <= sharedReplicas && len(left) <= 2 {
			break
		}
	}
	f.Logf("keys in the engine: %v", left)
	for kind, n := range left {
		if most := map[string]int{"session": len(f.callers) + 1, "alive": sharedReplicas}[kind]; n > most {
			f.Errorf("the engine has %d keys of the kind %q after all sessions have ended, want %d", n, kind, most)
		}
	}
}

// kindOfKey names what a key of the Store is for.
func kindOfKey(key string) string {
	switch {
	case strings.Contains(key, ".alive."):
		return "alive"
	case strings.Contains(key, ".ask."):
		return "question"
	}
	kind, _, _ := strings.Cut(key, ".")
	return kind
}

// TestReplicasKilled kills a random replica every second.
func TestReplicasKilled(t *testing.T) {
	for name, start := range sharedEngines {
		t.Run(name, func(t *testing.T) {
			giveBack(t)
			f := newField(t, start(t), 0)
			f.begin()
			f.killFor(*killTime)
			f.end()
		})
	}
}

// TestReplicasRestarted replaces all replicas in order, as a deployment does, and no call fails.
func TestReplicasRestarted(t *testing.T) {
	for name, start := range sharedEngines {
		t.Run(name, func(t *testing.T) {
			giveBack(t)
			f := newField(t, start(t), 10*attempts)
			f.pool.watch(t)
			f.begin()
			for i := range sharedReplicas {
				time.Sleep(killEvery)
				f.replace(i, syscall.SIGTERM)
			}
			f.end()
			f.checkNoneFailed()
		})
	}
}
