//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// caller is one client that calls without pause: a read-only tool, and a tool with a side
// effect.
type caller struct {
	client *mcpclient.Client
	name   string

	reads, added, lost int
	errs               []error

	rounds *atomic.Int64 // of all callers
}

// attempts is how often a caller tries a call that may be repeated.
const attempts = 5

// run calls until ctx ends.
func (c *caller) run(ctx context.Context, t *testing.T) {
	for n := 0; ctx.Err() == nil; n++ {
		word := fmt.Sprintf("%s-%d", c.name, n)
		c.read(t.Context(), word)
		c.add(t.Context(), word)
		c.rounds.Add(1)
	}
}

// read calls the read-only tool, and repeats the call if it may not have run.
func (c *caller) read(ctx context.Context, word string) {
	var err error
	for range attempts {
		var got string
		if got, err = c.client.Call[string](ctx, "echo", map[string]string{"text": word}); err == nil && got != word {
			c.errs = append(c.errs, fmt.Errorf("read: got %q, want %q", got, word))
			return
		}
		if _, lost := errors.AsType[*mcpclient.MayHaveRunError](err); !lost {
			break
		}
	}
	if c.reads++; err != nil {
		c.errs = append(c.errs, fmt.Errorf("read: %w", err))
	}
}

// add calls the tool with a side effect once.
func (c *caller) add(ctx context.Context, word string) {
	_, err := c.client.CallTool(ctx, "append", map[string]string{"line": word})
	switch _, lost := errors.AsType[*mcpclient.MayHaveRunError](err); {
	case err == nil:
		c.added++
	case lost:
		c.lost++
	default:
		c.errs = append(c.errs, fmt.Errorf("add: %w", err))
	}
}

// replaced describes how replicas are replaced under load.
type replaced struct {
	how      syscall.Signal
	rounds   int
	lameDuck time.Duration
	callers  int // of each era
}

// test checks that calls which may be repeated do not fail while replicas are replaced,
// and that nothing is done twice.
func (r replaced) test(t *testing.T) {
	giveBack(t)
	file := filepath.Join(t.TempDir(), "lines")
	start := func() *process {
		return launch(t, "http", "FAULT_TEST_FILE="+file, "FAULT_TEST_LAME_DUCK="+r.lameDuck.String())
	}
	p := &pool{ready: make([]atomic.Pointer[string], 3)}
	replicas := make([]*process, len(p.ready))
	for i := range replicas {
		replicas[i] = start()
		p.set(i, replicas[i].addr)
	}
	p.watch(t)
	callers, rounds := r.connect(t, p)
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for _, c := range callers {
		work.Go(func() { c.run(ctx, t) })
	}
	for range r.rounds {
		for i, old := range replicas {
			err := old.kill(r.how)
			if r.how == syscall.SIGTERM && err != nil {
				t.Errorf("replica %d: %v, want it to end in order", i, err)
			}
			replicas[i] = start()
			p.set(i, replicas[i].addr)
			for enough := rounds.Load() + between; rounds.Load() < enough; time.Sleep(time.Millisecond) {
			}
		}
	}
	stop()
	work.Wait()
	account(t, callers, file)
}

// between is the number of calls between two replacements.
const between = 50

func (r replaced) connect(t *testing.T, p *pool) (callers []*caller, rounds *atomic.Int64) {
	rounds = new(atomic.Int64)
	for era, o := range eras() {
		for i := range r.callers {
			b := newBalancer(t, p, era == "session")
			own := *o
			callers = append(callers, &caller{rounds: rounds, name: fmt.Sprintf("%s-%d", era, i), client: connect(t, mcpclient.URL(b.url()), &own)})
		}
	}
	return callers, rounds
}

// account compares what the callers were told with what was done.
func account(t *testing.T, callers []*caller, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	done := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		if done[line]++; done[line] > 1 {
			t.Errorf("%q was done twice", line)
		}
	}
	var reads, added, lost int
	for _, c := range callers {
		reads, added, lost = reads+c.reads, added+c.added, lost+c.lost
		for _, err := range c.errs {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.added == 0 {
			t.Errorf("%s: nothing was done", c.name)
		}
	}
	if len(done) < added || len(done) > added+lost {
		t.Errorf("%d were done, and %d said so; %d may have run", len(done), added, lost)
	}
	t.Logf("%d reads, none failed; %d side effects, %d of which may have run", reads, added+lost, lost)
}

func TestFaultRollingRestart(t *testing.T) {
	replaced{how: syscall.SIGTERM, rounds: 1, lameDuck: 200 * time.Millisecond, callers: 2}.test(t)
}

func TestFaultKilledReplica(t *testing.T) {
	replaced{how: syscall.SIGKILL, rounds: 1, callers: 2}.test(t)
}
