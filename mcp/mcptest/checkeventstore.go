package mcptest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// maxEvent is the size of an event that every EventStore takes.
const maxEvent = 1 << 20

// eventWait bounds the calls whose context has ended. The tests of the checks shorten it.
var eventWait = 2 * time.Minute

// CheckEventStore tests that an EventStore keeps the contract of mcp.EventStore: the events of
// a stream, their order and their removal. A store is bounded, but the check expects that it
// keeps some streams of up to 300 events. It runs subtests in parallel.
//
// open is called once for each subtest, possibly concurrently. It returns two connections to
// one store without events, as two replicas have them; a store of one process is returned
// twice. What has to be closed is closed by t.Cleanup. Use a namespace of its own for each
// call where the engine is shared.
//
// [CheckFaults] tests what happens while the engine fails.
func CheckEventStore(t *testing.T, open func(t *testing.T) (one, two mcp.EventStore)) {
	t.Helper()
	for name, check := range map[string]func(*eventCheck){
		"events are returned in order":    (*eventCheck).order,
		"long streams are complete":       (*eventCheck).long,
		"streams do not mix":              (*eventCheck).streams,
		"an event is appended once":       (*eventCheck).repeated,
		"trimmed events are gone":         (*eventCheck).trim,
		"a trimmed stream goes on":        (*eventCheck).trimmedGoesOn,
		"the longest name, a large event": (*eventCheck).limits,
		"calls end with their context":    (*eventCheck).context,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := open(t)
			check(&eventCheck{T: t, one: one, two: two})
		})
	}
}

type eventCheck struct {
	*testing.T
	one, two mcp.EventStore
}

// append appends the events from first to last, which are their stream and number.
func (c *eventCheck) append(stream string, first, last int64) {
	c.Helper()
	for n := first; n <= last; n++ {
		if err := c.one.Append(c.Context(), stream, n, fmt.Append(nil, stream, n)); err != nil {
			c.Errorf("Append %d to %q: %v", n, stream, err)
			return
		}
	}
}

// want checks that the events after n are those from first to last. None are wanted if last
// is less than first.
func (c *eventCheck) want(stream string, n, first, last int64) {
	c.Helper()
	var want [][]byte
	for number := first; number <= last; number++ {
		want = append(want, fmt.Append(nil, stream, number))
	}
	if got, err := c.two.After(c.Context(), stream, n); err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
		c.Errorf("After %d of %q: got %d events %q, %v, want %d events %q",
			n, stream, len(got), got[:min(len(got), 20)], err, len(want), want[:min(len(want), 20)])
	}
}

func (c *eventCheck) order() {
	c.want("s", 0, 1, 0)
	c.append("s", 1, 20)
	c.want("s", 0, 1, 20)
	c.want("s", 7, 8, 20)
	c.want("s", 20, 1, 0)
	c.want("s", 21, 1, 0)
}

func (c *eventCheck) long() {
	c.append("s", 1, 300)
	c.want("s", 0, 1, 300)
	c.want("s", 299, 300, 300)
}

func (c *eventCheck) streams() {
	// Characters that have a meaning in patterns and subjects of engines, and names that
	// begin like others.
	names := []string{"s", "s1", "s-", "s.", "s.1", "s*", "s>", "s%", "s_", "s:1", "S", "*", ">"}
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() { c.append(name, 1, 11) })
	}
	all.Wait()
	for _, name := range names {
		c.want(name, 0, 1, 11)
	}
	c.want("s-1", 0, 1, 0)
}

// repeated checks an Append of the same event, as that of a caller whose first call had no answer.
func (c *eventCheck) repeated() {
	c.append("s", 1, 3)
	for _, n := range []int64{3, 2, 3} {
		c.append("s", n, n)
		c.want("s", 0, 1, 3)
	}
	c.append("s", 4, 4)
	c.want("s", 0, 1, 4)
	_ = c.one.Append(c.Context(), "s", 4, []byte("other")) // it may fail
	got, err := c.two.After(c.Context(), "s", 0)
	if err != nil || len(got) != 4 || string(got[3]) != "s4" && string(got[3]) != "other" {
		c.Errorf("after an Append of event 4 with other bytes: got %q, %v, want the old or the new bytes", got, err)
	}
	c.want("s", 4, 1, 0)
}

func (c *eventCheck) trim() {
	c.append("a", 1, 10)
	c.append("b", 1, 10)
	if err := c.one.Trim(c.Context(), "a", 4); err != nil {
		c.Fatal(err)
	}
	c.want("a", 0, 5, 10)
	c.want("a", 4, 5, 10)
	c.want("a", 8, 9, 10)
	for range 2 { // the second one removes nothing
		if err := c.two.Trim(c.Context(), "a", math.MaxInt64); err != nil {
			c.Fatal(err)
		}
	}
	if err := c.one.Trim(c.Context(), "none", 3); err != nil {
		c.Errorf("Trim of a stream without events: %v", err)
	}
	c.want("a", 4, 1, 0)
	c.want("b", 0, 1, 10)
}

// trimmedGoesOn checks that numbers go on after all events of a stream were removed.
func (c *eventCheck) trimmedGoesOn() {
	c.append("a", 1, 10)
	if err := c.one.Trim(c.Context(), "a", 10); err != nil {
		c.Fatal(err)
	}
	c.want("a", 0, 1, 0)
	c.append("a", 11, 13)
	c.want("a", 0, 11, 13)
	c.want("a", 12, 13, 13)
}

func (c *eventCheck) limits() {
	name := strings.Repeat("~", 64)
	large := bytes.Repeat([]byte{'m'}, maxEvent)
	if err := c.one.Append(c.Context(), name, 1, large); err != nil {
		c.Fatalf("Append of 1 MiB: %v", err)
	}
	if got, err := c.two.After(c.Context(), name, 0); err != nil || len(got) != 1 || !bytes.Equal(got[0], large) {
		c.Errorf("got %d events, %v, want one of 1 MiB", len(got), err)
	}
}

func (c *eventCheck) context() {
	ctx, cancel := context.WithCancel(c.Context())
	cancel()
	within(c.T, eventWait, "calls whose context has ended", func() { // they may succeed, but must not wait
		_ = c.one.Append(ctx, "a", 1, nil)
		_, _ = c.one.After(ctx, "a", 0)
		_ = c.one.Trim(ctx, "a", 1)
	})
}
