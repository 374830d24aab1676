package mcptest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// brokenVar is set in the child process in which checks of broken engines fail.
const brokenVar = "MCPTEST_BROKEN_ENGINES"

// TestChecksFailForBrokenEngines runs the checks with engines that break the contract, in a
// child process, and expects that the check that is about the broken rule has failed. Engines that
// keep the contract pass there, so that nothing else makes the checks fail.
func TestChecksFailForBrokenEngines(t *testing.T) {
	t.Parallel()
	if os.Getenv(brokenVar) != "" {
		t.Run("correct", func(t *testing.T) {
			for name, check := range correctEngines {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					check(t)
				})
			}
		})
		mcptest.ShortenChecks(2*time.Second, 5*time.Second) // of checks that fail
		for name, b := range brokenEngines() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b.check(t)
			})
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestChecksFailForBrokenEngines$", "-test.parallel=1000", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), brokenVar+"=1")
	output, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatal("the checks of broken engines pass")
	}
	failed := func(name string) bool {
		return strings.Contains(string(output), "--- FAIL: "+strings.ReplaceAll("TestChecksFailForBrokenEngines/"+name, " ", "_")+" (")
	}
	for name, b := range brokenEngines() {
		if !failed(name + "/" + b.fails) {
			t.Errorf("%s: check %q passes, want it to fail", name, b.fails)
		}
	}
	for name := range correctEngines {
		if failed("correct/" + name) {
			t.Errorf("%s: a check fails, want all to pass", name)
		}
	}
	if strings.Contains(string(output), "\npanic: ") {
		t.Error("the child process has ended before its checks")
	}
	if t.Failed() {
		t.Logf("%s", output[:min(len(output), 20_000)])
	}
}

// correctEngines are checks of engines that keep the contracts.
var correctEngines = map[string]func(t *testing.T){
	"correct store": func(t *testing.T) {
		mcptest.CheckStore(t, func(*testing.T) (one, two mcp.Store) {
			s := new(mcpserver.MemoryStore)
			return s, s
		})
	},
	"correct store that stalls once": func(t *testing.T) {
		mcptest.CheckStore(t, func(*testing.T) (one, two mcp.Store) {
			var stall sync.Once
			return brokenStore(func(s *changedStore) {
				s.swap = func(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
					stall.Do(func() { time.Sleep(2 * time.Second) }) // in which a lease expires
					return s.Store.Swap(ctx, key, old, value, ttl)
				}
			})
		})
	},
	"correct bus": func(t *testing.T) {
		mcptest.CheckBus(t, func(*testing.T) (one, two mcp.Bus) {
			b := new(mcpserver.MemoryBus)
			return b, b
		})
	},
	"correct event store": func(t *testing.T) {
		mcptest.CheckEventStore(t, func(*testing.T) (one, two mcp.EventStore) {
			e := new(plainEvents)
			return e, e
		})
	},
	"correct engine": func(t *testing.T) { mcptest.CheckFaults(t, newSimulatedServer().engine()) },
}

// brokenEngine is an engine that breaks one rule.
type brokenEngine struct {
	fails string // the subtest that finds it
	check func(t *testing.T)
}

// brokenEngines returns the broken engines by what is wrong with them.
func brokenEngines() map[string]brokenEngine {
	all := make(map[string]brokenEngine)
	for name, b := range brokenStores {
		all["store "+name] = brokenEngine{b.fails, func(t *testing.T) {
			mcptest.CheckStore(t, func(*testing.T) (one, two mcp.Store) { return b.open() })
		}}
	}
	for name, b := range brokenBuses {
		all["bus "+name] = brokenEngine{b.fails, func(t *testing.T) {
			mcptest.CheckBus(t, func(*testing.T) (one, two mcp.Bus) { return b.open() })
		}}
	}
	for name, b := range brokenEventStores {
		all["event store "+name] = brokenEngine{b.fails, func(t *testing.T) {
			mcptest.CheckEventStore(t, func(*testing.T) (one, two mcp.EventStore) { return b.open() })
		}}
	}
	for name, b := range brokenUnderFaults {
		all["engine "+name] = brokenEngine{b.fails, func(t *testing.T) {
			s := newSimulatedServer()
			engine := s.engine()
			b.change(s, &engine)
			keepFault(&engine, b.fails)
			mcptest.CheckFaults(t, engine)
		}}
	}
	return all
}

// keepFault leaves out the faults that a subtest does not need, for they take time.
func keepFault(e *mcptest.Engine, subtest string) {
	if !strings.Contains(subtest, "cut") {
		e.Cut = nil
	}
	if !strings.Contains(subtest, "restarts") {
		e.Stop = nil
	}
	if !strings.Contains(subtest, "answer") {
		e.Block = nil
	}
	if !strings.Contains(subtest, "room") {
		e.Fill = nil
	}
}
