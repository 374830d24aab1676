//go:build unix && replicas

package fault_test

import (
	"flag"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"
)

var (
	foreignEngine = flag.String("foreignengine", "redis", "the engine of the replicas of foreign clients: nats, postgres or redis")
	foreignTime   = flag.Duration("foreigntime", 15*time.Second, "how long replicas of foreign clients are killed")
)

// TestReplicasKilledUnderForeignClients kills a random replica every second while clients of other
// SDKs call. What such a client does when its connection is lost is its own: it may fail a call that
// has run, and may give up. But no answer is wrong, no call runs twice, and a session goes on.
func TestReplicasKilledUnderForeignClients(t *testing.T) {
	programs := prepareForeign(t)
	giveBack(t)
	f := newReplicas(t, sharedEngines[*foreignEngine](t))
	var callers []*foreignCaller
	for _, p := range programs {
		callers = append(callers, newForeignCaller(t, p, f.url))
	}
	var work sync.WaitGroup
	for _, c := range callers {
		work.Go(func() { c.run(f.stop) })
	}
	f.killFor(*foreignTime)
	close(f.stop)
	work.Wait()
	after := make(map[*foreignCaller]string)
	for _, c := range callers {
		switch before := c.gaveUp; {
		case !c.worksAgain() || c.gaveUp > before:
			if after[c] = "gave up"; !c.program.givesUp {
				t.Errorf("%s: it does not work after the kills", c.program.name)
			}
		case c.session == "":
			after[c] = "answered"
		default:
			after[c] = "same session"
		}
		c.process.close()
	}
	checkForeignCalls(t, callers, f.file, after)
}

// checkForeignCalls compares how the calls ended with the ledger, and prints the table.
func checkForeignCalls(t *testing.T, callers []*foreignCaller, file string, after map[*foreignCaller]string) {
	t.Helper()
	done, errs := readLedger(t, file), make(map[string]int)
	t.Logf("%-25s %8s %13s %6s %8s %6s %6s %8s %8s %s", "client", "answered", "may have run", "failed", "silent", "WRONG", "TWICE", "gave up", "longest", "afterwards")
	for _, c := range callers {
		var ends foreignEnds
		var longest time.Duration
		for _, call := range c.calls {
			ends.add(call, done[call.line])
			longest = max(longest, call.took)
			if call.text != "" {
				errs[c.program.name+": "+call.tool+": "+withoutNumbers(call.text)]++
			}
			if n := done[call.line]; call.tool != "echo" && (n > 1 || call.outcome == right && n == 0) {
				t.Errorf("%s: it has run %d times, and ended with %q", call.line, n, call.text)
			}
			delete(done, call.line)
		}
		for _, fault := range c.faults {
			t.Error(fault)
		}
		t.Logf("%-25s %8d %13d %6d %8d %6d %6d %8d %8v %s", c.program.name, ends.answered, ends.mayHaveRun, ends.failed, ends.silent, ends.wrong, ends.twice, c.gaveUp, longest.Round(10*time.Millisecond), after[c])
		if ends.answered == 0 || ends.wrong > 0 {
			t.Errorf("%s: %d calls were answered, %d with a wrong answer", c.program.name, ends.answered, ends.wrong)
		}
	}
	for line, n := range done {
		t.Errorf("%q is in the ledger %d times, and no client has asked for it", line, n)
	}
	for _, text := range slices.Sorted(maps.Keys(errs)) {
		t.Logf("%6d × %.300s", errs[text], text)
	}
}

func (e *foreignEnds) add(call foreignCall, times int) {
	if times > 1 {
		e.twice++
	}
	switch {
	case call.outcome == right:
		e.answered++
	case call.outcome == mayHaveRun:
		e.mayHaveRun++
	case call.outcome == wrong:
		e.wrong++
	case call.silent:
		e.silent++
	default:
		e.failed++
	}
}
