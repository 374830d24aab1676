package mcptest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// cuts is how often the connections are cut in one subtest.
	cuts = 8
	// maxUntilCut is the longest time between progress and the next cut.
	maxUntilCut = 20 * time.Millisecond
	// cutValue is the size of values that are written meanwhile: a write takes several packets.
	cutValue = 256 << 10
)

// cutter cuts the connections of an engine while others work.
type cutter struct {
	done     chan struct{} // closed after the last cut
	progress atomic.Int64  // counts what has succeeded
}

// cutWhile runs the functions until the connections were cut several times. After each cut
// something has to succeed before the next one.
func (c *faultCheck) cutWhile(work ...func(k *cutter)) {
	c.Helper()
	k := &cutter{done: make(chan struct{})}
	var all sync.WaitGroup
	for _, f := range work {
		all.Go(func() { f(k) })
	}
	err := k.run(c.engine.Cut)
	close(k.done)
	all.Wait()
	if err != nil {
		c.Error(err)
	}
}

func (k *cutter) run(cut func()) error {
	for n := range cuts {
		before := k.progress.Load()
		for begun := time.Now(); k.progress.Load() == before; time.Sleep(time.Millisecond) {
			if time.Since(begun) > recoveryWait {
				return fmt.Errorf("nothing succeeds %v after cut %d", recoveryWait, n)
			}
		}
		time.Sleep(rand.N(maxUntilCut))
		cut()
	}
	return nil
}

// goesOn reports whether there will be another cut.
func (k *cutter) goesOn() bool {
	select {
	case <-k.done:
		return false
	default:
		return true
	}
}

// numbered returns a value that shows whether it is whole: its number, again and again.
func numbered(n, size int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%08d", n), size/8) }

// numberOf returns the number of a value. It reports false if the value is not whole.
func numberOf(value []byte, size int) (n int, whole bool) {
	if len(value) != size {
		return 0, false
	}
	n, err := strconv.Atoi(string(value[:8]))
	return n, err == nil && bytes.Equal(value, numbered(n, size))
}

func (c *faultCheck) cutStore() {
	one, two := c.replicas[0].store, c.replicas[1].store
	if one == nil {
		return
	}
	created := new(competition)
	c.cutWhile(
		func(k *cutter) { c.cutPuts(k, one) },
		func(k *cutter) { c.cutSwaps(k, two) },
		func(k *cutter) { c.cutCreates(k, one, two, created) },
	)
	created.check(c)
}

// cutPuts writes values with growing numbers. After a failure the value is one of those that were
// written since the last success.
func (c *faultCheck) cutPuts(k *cutter, s mcp.Store) {
	key, written := c.prefix+"put", -1
	for n := 0; k.goesOn(); n++ {
		if err := s.Put(c.Context(), key, numbered(n, cutValue), 0); err == nil {
			written = n
			k.progress.Add(1)
			continue
		}
		value, found, ok := c.value(s, key)
		if !ok {
			return
		}
		if !found {
			if written >= 0 {
				c.Errorf("Put of value %d failed: got no value, want one of %d to %d", n, written, n)
				return
			}
			continue
		}
		got, whole := numberOf(value, cutValue)
		if !whole || got < written || got > n {
			c.Errorf("Put of value %d failed: got value %d of %d bytes (whole: %v), want one of %d to %d, whole", n, got, len(value), whole, written, n)
			return
		}
		written = max(written, got)
	}
}

// cutSwaps counts with Swap and is the only writer, so false is right only if an earlier call
// failed and has happened nevertheless.
func (c *faultCheck) cutSwaps(k *cutter, s mcp.Store) {
	const size = 16 << 10
	key := c.prefix + "swap"
	if c.tryUntil(func(ctx context.Context) error { return s.Put(ctx, key, numbered(0, size), 0) }) != nil {
		return
	}
	failed := false // the last Swap
	for n := 0; k.goesOn(); {
		swapped, err := s.Swap(c.Context(), key, numbered(n, size), numbered(n+1, size), 0)
		if err == nil && swapped {
			n, failed = n+1, false
			k.progress.Add(1)
			continue
		}
		value, _, ok := c.value(s, key)
		if !ok {
			return
		}
		got, whole := numberOf(value, size)
		switch {
		case !whole || got != n && got != n+1:
			c.Errorf("Swap of value %d to %d failed (%v): got value %d of %d bytes, want one of the two, whole", n, n+1, err, got, len(value))
			return
		case err == nil && !failed:
			c.Errorf("Swap of value %d: got false, but nobody else writes; the value is %d. A call that may have happened must not be repeated without looking", n, got)
		}
		n, failed = got, err != nil
	}
}

// competition has what two replicas have created under the same keys.
type competition struct {
	keys    []string
	results [][2]createResult
}

type createResult struct {
	created bool
	err     error
}

// cutCreates lets two replicas create the same keys, until the last cut.
func (c *faultCheck) cutCreates(k *cutter, one, two mcp.Store, all *competition) {
	for n := 0; k.goesOn(); n++ {
		key := fmt.Sprint(c.prefix, "create/", n)
		var results [2]createResult
		var both sync.WaitGroup
		for i, s := range []mcp.Store{one, two} {
			both.Go(func() {
				results[i].created, results[i].err = s.Create(c.Context(), key, numbered(i, createSize), 0)
			})
		}
		both.Wait()
		all.keys, all.results = append(all.keys, key), append(all.results, results)
		if results[0].err == nil && results[1].err == nil {
			k.progress.Add(1)
		}
	}
}

const createSize = 8 << 10

// check compares the values that are there with what each Create has reported.
func (all *competition) check(c *faultCheck) {
	for i, key := range all.keys {
		value, found, ok := c.value(c.replicas[0].store, key)
		if !ok {
			return
		}
		owner, whole := numberOf(value, createSize)
		if found && !whole {
			c.Errorf("Create of %q: got %d bytes, want all %d or none", key, len(value), createSize)
			continue
		}
		for replica, r := range all.results[i] {
			switch mine := found && owner == replica; {
			case r.err != nil: // has happened or not
			case r.created && !mine:
				c.Errorf("Create of %q reported true to replica %d, but its value is not there", key, replica+1)
			case !r.created && mine:
				c.Errorf("Create of %q reported false to replica %d, but its value is there. A call that may have happened must not be repeated without looking", key, replica+1)
			case !r.created && !found:
				c.Errorf("Create of %q reported false to replica %d, but there is no value", key, replica+1)
			}
		}
	}
}

// cutBus publishes numbers. Some are lost, but each arrives at most once, and those whose Publish has
// succeeded arrive in order. The engine may receive a message whose Publish has failed, and deliver it
// after later ones.
func (c *faultCheck) cutBus() {
	one, two := c.replicas[0].bus, c.replicas[1].bus
	if one == nil {
		return
	}
	topic := c.prefix + "topic"
	var k *cutter
	var arrived []string
	ready := make(chan struct{})
	cancel, err := two.Subscribe(c.Context(), topic, func(msg []byte) {
		<-ready
		arrived = append(arrived, string(msg))
		k.progress.Add(1)
	})
	if err != nil {
		c.Fatalf("Subscribe: %v", err)
	}
	failed := make(map[int]bool)
	c.cutWhile(func(own *cutter) {
		k = own
		close(ready)
		for n := 0; k.goesOn(); n++ {
			failed[n] = one.Publish(c.Context(), topic, number(n)) != nil
			time.Sleep(time.Millisecond)
		}
	})
	cancel()
	if err := checkArrived(arrived, failed); err != nil {
		c.Error(err)
	}
}

// checkArrived checks the messages that have arrived on a topic. failed has the numbers of all that were
// published, true for those whose Publish has failed.
func checkArrived(arrived []string, failed map[int]bool) error {
	last, seen := -1, make(map[int]bool, len(arrived))
	for _, msg := range arrived {
		n, err := strconv.Atoi(msg)
		failure, published := failed[n]
		switch {
		case err != nil || !published:
			return fmt.Errorf("got message %q, want those that were published", msg)
		case seen[n]:
			return fmt.Errorf("got message %d twice, want each once", n)
		case !failure && n < last:
			return fmt.Errorf("got message %d after %d, want those whose Publish has succeeded in order", n, last)
		case !failure:
			last = n
		}
		seen[n] = true
	}
	return nil
}

// cutEvents appends events. Those that failed may be missing, or be there as a whole.
func (c *faultCheck) cutEvents() {
	const size = 16 << 10
	one, two := c.replicas[0].events, c.replicas[1].events
	if one == nil {
		return
	}
	stream := c.stream("cut")
	var last, lastFailed int64
	c.cutWhile(func(k *cutter) {
		for n := int64(1); k.goesOn(); n++ {
			last = n
			if err := one.Append(c.Context(), stream, n, numbered(int(n), size)); err != nil {
				lastFailed = n
				time.Sleep(time.Millisecond)
				continue
			}
			k.progress.Add(1)
			if n%50 == 0 { // the engine may bound its streams
				_ = one.Trim(c.Context(), stream, n-20)
			}
		}
	})
	var all, msgs [][]byte
	c.eventually("After", func(ctx context.Context) (err error) {
		if all, err = two.After(ctx, stream, 0); err == nil {
			msgs, err = two.After(ctx, stream, max(lastFailed, last-20))
		}
		return err
	})
	before := 0
	for _, msg := range all {
		n, whole := numberOf(msg, size)
		if !whole || n <= before {
			c.Fatalf("After: got event %d of %d bytes (whole: %v) after event %d, want whole events in order", n, len(msg), whole, before)
		}
		before = n
	}
	if want := last - max(lastFailed, last-20); int64(len(msgs)) != want {
		c.Errorf("After: got %d events after the last one that failed, want %d", len(msgs), want)
	}
}
