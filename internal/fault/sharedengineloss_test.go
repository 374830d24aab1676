//go:build unix && replicas

package fault_test

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

var lossTime = flag.Duration("losstime", 10*time.Second, "how long each engine is stopped")

// TestReplicasWithoutTheirEngine stops the engine. Calls go on, except those that need what the
// replicas share, which fail at once and say why. When the engine is back, everything works.
func TestReplicasWithoutTheirEngine(t *testing.T) {
	for name, start := range sharedEngines {
		t.Run(name, func(t *testing.T) {
			giveBack(t)
			f := newField(t, start(t), 0)
			for _, c := range f.callers {
				f.watches.Go(func() { f.changes.watch(f.ctx, c) })
				for _, tool := range c.tools() {
					f.want(right, c.call(f.ctx, tool, c.name+" first "+tool))
				}
			}
			f.engine.Stop()
			f.callWithoutEngine(time.Now().Add(*lossTime))
			f.engine.Start()
			f.awaitEngine()
			by := newSharedCaller(t, "announcer", f.url, mcp.V20260728)
			f.Cleanup(func() { _ = by.client.Close() })
			f.callEnd.Go(func() { f.changes.run(f.ctx, f.T, by.client, f.stop) })
			f.callEnd.Go(func() { f.raw.ping(f.ctx, f.stop) })
			time.Sleep(2 * time.Second)
			f.end()
		})
	}
}

// tools are those that the client can use.
func (c *sharedCaller) tools() []string {
	if c.canElicit() {
		return []string{"echo", "add", "slow", "sample", "ask"}
	}
	return []string{"echo", "add", "slow", "sample"}
}

// callWithoutEngine has all clients call all tools until end. The engine starts only after all calls
// have ended, so none can have waited for it.
func (f *field) callWithoutEngine(end time.Time) {
	var work sync.WaitGroup
	for _, c := range f.callers {
		work.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				tools := c.tools()
				tool := tools[n%len(tools)]
				f.checkWithoutEngine(c, c.call(f.ctx, tool, fmt.Sprintf("%s without %d", c.name, n)))
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	work.Wait()
}

// checkWithoutEngine checks a call that ended while the engine was stopped.
func (f *field) checkWithoutEngine(c *sharedCaller, end callEnd) {
	asks := end.tool == "ask" || end.tool == "sample"
	switch {
	case c.endsWithReplica(): // only the replica of its stream serves it
	case !asks || c.revision == mcp.V20260728:
		f.want(right, end)
	case end.outcome == right || !strings.Contains(fmt.Sprint(end.err), "the state that the replicas of this server share is not available"):
		f.Errorf("%s of %s: got %v, want an error that names the shared state", end.tool, end.line, end.err)
	}
}

func (f *field) want(o outcome, end callEnd) {
	f.Helper()
	if end.outcome != o {
		f.Errorf("%s of %s failed: %v", end.tool, end.line, end.err)
	}
}

// awaitEngine waits until every client can use every tool again.
func (f *field) awaitEngine() {
	f.Helper()
	began := time.Now()
	deadline := began.Add(patience)
	var work sync.WaitGroup
	for _, c := range f.callers {
		for n, tool := range c.tools() {
			work.Go(func() {
				for again := 0; ; again++ {
					end := c.call(f.ctx, tool, fmt.Sprintf("%s again %d/%d", c.name, n, again))
					if end.outcome == right {
						return
					}
					if time.Now().After(deadline) {
						f.Errorf("%s: %s does not work %v after the engine is back: %v", c.name, tool, patience, end.err)
						return
					}
					time.Sleep(50 * time.Millisecond)
				}
			})
		}
	}
	work.Wait()
	f.Logf("everything works %v after the engine is back", time.Since(began).Round(10*time.Millisecond))
}
