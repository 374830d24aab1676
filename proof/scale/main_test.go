//go:build linux

package scale_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testdir"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

var table = flag.String("table", "", "measure in full, and write the tables to this file")

// TestMain runs the tests or, in a child process, a replica.
func TestMain(m *testing.M) {
	if os.Getenv(addrVariable) != "" {
		fmt.Fprintln(os.Stderr, runReplica())
		os.Exit(1)
	}
	testdir.Prepare() // PostgreSQL has a user of its own, who must reach its files
	mcptest.Main(m)
}

// size is how much is measured.
type size struct {
	engines  []string
	rounds   int           // in which the CPU time of calls is measured
	calls    int           // of each kind in a round
	idle     int           // sessions of one replica whose memory is measured
	sessions int           // with a record in the engine
	kills    int           // of a replica
	loss     time.Duration // for which an engine is lost
	settle   time.Duration // without calls of the engine, after which an operation has ended
}

var (
	small = size{engines: []string{"Redis"}, rounds: 1, calls: 50, idle: 20, sessions: 100, kills: 1, loss: time.Second, settle: 50 * time.Millisecond}
	large = size{engines: []string{"Redis", "NATS", "PostgreSQL"}, rounds: 3, calls: 2000, idle: 10_000, sessions: 100_000, kills: 3, loss: 30 * time.Second, settle: 300 * time.Millisecond}
)

func TestScale(t *testing.T) {
	of := small
	if *table != "" {
		of = large
	}
	p := new(page)
	t.Run("of", func(t *testing.T) {
		for _, m := range []struct {
			name    string
			measure func(*testing.T, size, *page)
		}{
			{"calls", measureCalls},
			{"operations", measureOperations},
			{"memory", measureMemory},
			{"recovery", measureRecovery},
			{"loss", measureLoss},
			{"sessions", measureSessions},
		} {
			t.Run(m.name, func(t *testing.T) {
				if *table == "" {
					t.Parallel() // the figures mean nothing
				}
				m.measure(t, of, p)
			})
		}
	})
	if *table == "" || t.Failed() {
		return
	}
	if err := os.WriteFile(*table, []byte(p.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
