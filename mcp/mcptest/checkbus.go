package mcptest

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Limits of mcp.Bus.
const (
	maxBusTopic   = 256
	maxBusMessage = 64 << 10
)

// busWait is how long the checks of a Bus wait for a message, also on a busy machine. The tests of
// the checks shorten it.
var busWait = 2 * time.Minute

// busQuiet is how long the checks of a Bus wait to see that no message comes.
const busQuiet = 200 * time.Millisecond

// busBurst is how many messages are published at once to a subscriber that reads, and
// busFlood how many to one that does not.
const (
	busBurst = 200
	busFlood = 5000
)

// CheckBus tests that a Bus keeps the contract of mcp.Bus: who gets which messages, in which
// order, subscriptions and their end, and limits. It runs subtests in parallel and takes about
// a second.
//
// A Bus may lose messages, but not on a network that works: the check expects every message
// for a subscriber that is not behind, also 200 that are published at once.
//
// open is called once for each subtest, possibly concurrently. It returns two connections to
// one bus without other users, as two replicas have them; a bus of one process is returned
// twice. What has to be closed is closed by t.Cleanup. Use a namespace of its own for each
// call where the engine is shared.
//
// [CheckFaults] tests what happens while the engine fails.
func CheckBus(t *testing.T, open func(t *testing.T) (one, two mcp.Bus)) {
	t.Helper()
	for name, check := range map[string]func(*busCheck){
		"messages reach the subscribers of their topic": (*busCheck).topics,
		"messages are for present subscribers":          (*busCheck).present,
		"messages of one publisher stay in order":       (*busCheck).order,
		"a subscriber gets one message at a time":       (*busCheck).oneAtATime,
		"a subscription ends with its cancel only":      (*busCheck).cancel,
		"cancel waits for a running deliver":            (*busCheck).cancelWaits,
		"a slow subscriber delays no other":             (*busCheck).slow,
		"a subscriber that was slow gets new messages":  (*busCheck).recovery,
		"messages belong to their subscribers":          (*busCheck).ownership,
		"topics and messages have limits":               (*busCheck).limits,
		"calls end with their context":                  (*busCheck).context,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := open(t)
			check(&busCheck{T: t, one: one, two: two})
		})
	}
}

type busCheck struct {
	*testing.T
	one, two mcp.Bus
}

// inbox holds the messages of a subscription.
type inbox struct {
	mu  sync.Mutex
	got []string
	new chan struct{} // has a token after a message
}

func (b *inbox) deliver(msg []byte) {
	b.mu.Lock()
	b.got = append(b.got, string(msg))
	b.mu.Unlock()
	select {
	case b.new <- struct{}{}:
	default:
	}
}

func (b *inbox) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got)
}

// await waits until there are n messages, and returns them.
func (b *inbox) await(c *busCheck, n int) []string {
	c.Helper()
	timeout := time.After(busWait)
	for {
		if got := b.all(); len(got) >= n {
			return got
		}
		select {
		case <-b.new:
		case <-timeout:
			c.Fatalf("got %d messages in %v, want %d", len(b.all()), busWait, n)
		}
	}
}

func (c *busCheck) subscribe(bus mcp.Bus, topic string) (*inbox, func()) {
	c.Helper()
	b := &inbox{new: make(chan struct{}, 1)}
	cancel, err := bus.Subscribe(c.Context(), topic, b.deliver)
	if err != nil {
		c.Fatalf("Subscribe to %q: %v", topic, err)
	}
	c.Cleanup(cancel)
	return b, cancel
}

func (c *busCheck) publish(bus mcp.Bus, topic, msg string) {
	c.Helper()
	if err := bus.Publish(c.Context(), topic, []byte(msg)); err != nil {
		c.Fatalf("Publish on %q: %v", topic, err)
	}
}

// publishMany publishes messages, which must not wait for subscribers.
func (c *busCheck) publishMany(bus mcp.Bus, topic string, n int, msg func(i int) []byte) {
	c.Helper()
	var failed error
	within(c.T, busWait, "Publish", func() {
		for i := range n {
			if failed = bus.Publish(c.Context(), topic, msg(i)); failed != nil {
				return
			}
		}
	})
	if failed != nil {
		c.Fatalf("Publish on %q: %v", topic, failed)
	}
}

func number(i int) []byte { return []byte(strconv.Itoa(i)) }

func (c *busCheck) topics() {
	// Characters that have a meaning in subjects and patterns of engines.
	names := []string{"a", "a.b", "a.*", "a.>", "a/b", "a:b", "A", "a[x]", "a'b", `a"b`, "*"}
	inboxes := make(map[string][2]*inbox)
	for _, name := range names {
		here, _ := c.subscribe(c.one, name)
		there, _ := c.subscribe(c.two, name)
		inboxes[name] = [2]*inbox{here, there}
	}
	for _, name := range names {
		c.publish(c.one, name, name+" from one")
		c.publish(c.two, name, name+" from two")
	}
	for _, name := range names {
		for _, b := range inboxes[name] {
			b.await(c, 2)
		}
	}
	time.Sleep(busQuiet)
	for _, name := range names {
		for i, b := range inboxes[name] {
			got := b.all()
			slices.Sort(got)
			if want := []string{name + " from one", name + " from two"}; !slices.Equal(got, want) {
				c.Errorf("topic %q on replica %d: got %q, want %q", name, i+1, got, want)
			}
		}
	}
	c.publish(c.one, "nobody", "is subscribed")
}

func (c *busCheck) order() {
	const publishers, each = 4, 50
	here, _ := c.subscribe(c.one, "order")
	there, _ := c.subscribe(c.two, "order")
	var all sync.WaitGroup
	for p := range publishers {
		all.Go(func() {
			for n := range each {
				msg := binary.BigEndian.AppendUint32([]byte{byte(p)}, uint32(n))
				if err := []mcp.Bus{c.one, c.two}[p%2].Publish(c.Context(), "order", msg); err != nil {
					c.Errorf("Publish: %v", err)
				}
			}
		})
	}
	all.Wait()
	for _, b := range []*inbox{here, there} {
		next := make(map[byte]uint32)
		for _, msg := range b.await(c, publishers*each) {
			if n := binary.BigEndian.Uint32([]byte(msg[1:])); n != next[msg[0]] {
				c.Fatalf("got message %d of publisher %d, want %d", n, msg[0], next[msg[0]])
			}
			next[msg[0]]++
		}
	}
}

// present checks that a subscriber gets what is published after Subscribe, and nothing older.
func (c *busCheck) present() {
	here, cancelHere := c.subscribe(c.one, "a")
	there, cancelThere := c.subscribe(c.two, "a")
	c.publish(c.one, "a", "before")
	c.publish(c.two, "a", "before")
	here.await(c, 2)
	there.await(c, 2)
	cancelHere()
	cancelThere()
	for i, bus := range []mcp.Bus{c.one, c.two, c.one} {
		b, cancel := c.subscribe(bus, "a")
		want := strconv.Itoa(i)
		c.publish(c.two, "a", want)
		if got := b.await(c, 1); got[0] != want {
			c.Errorf("got %q, want %q, which is the first one after Subscribe", got[0], want)
		}
		cancel()
	}
}

// oneAtATime checks that no two calls of deliver overlap, and that deliver may publish.
func (c *busCheck) oneAtATime() {
	const messages = 40
	var running, overlaps, failures atomic.Int32
	answers, _ := c.subscribe(c.two, "answers")
	cancel, err := c.one.Subscribe(c.Context(), "a", func(msg []byte) {
		if running.Add(1) > 1 {
			overlaps.Add(1)
		}
		if err := c.one.Publish(c.Context(), "answers", msg); err != nil {
			failures.Add(1)
		}
		time.Sleep(busQuiet / 100) // so that an overlap is seen
		running.Add(-1)
	})
	if err != nil {
		c.Fatal(err)
	}
	defer cancel()
	c.publishMany(c.one, "a", messages/2, number)
	c.publishMany(c.two, "a", messages/2, number)
	defer func() {
		if n := overlaps.Load(); n > 0 {
			c.Errorf("deliver was called %d times while it was running", n)
		}
		if n := failures.Load(); n > 0 {
			c.Errorf("Publish in deliver failed %d times", n)
		}
	}()
	answers.await(c, messages)
}

func (c *busCheck) cancel() {
	ctx, end := context.WithCancel(c.Context())
	b := &inbox{new: make(chan struct{}, 1)}
	cancel, err := c.one.Subscribe(ctx, "a", b.deliver)
	if err != nil {
		c.Fatal(err)
	}
	end()
	time.Sleep(busQuiet)
	c.publish(c.two, "a", "after the context")
	b.await(c, 1)
	other, _ := c.subscribe(c.one, "a")
	cancel()
	cancel()
	c.publish(c.two, "a", "after cancel")
	other.await(c, 1)
	time.Sleep(busQuiet)
	if got := b.all(); len(got) != 1 {
		c.Errorf("got %q, want nothing after cancel", got)
	}
}

func (c *busCheck) cancelWaits() {
	var ended atomic.Bool
	begun, cancelled := make(chan struct{}), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(cancelled) })
	defer goOn()
	cancel, err := c.one.Subscribe(c.Context(), "slow", func([]byte) {
		close(begun)
		select {
		case <-cancelled:
		case <-time.After(busWait): // Publish waits for this function
		}
		time.Sleep(busQuiet)
		ended.Store(true)
	})
	if err != nil {
		c.Fatal(err)
	}
	c.publish(c.two, "slow", "")
	select {
	case <-begun:
	case <-time.After(busWait):
		c.Fatalf("no message came in %v", busWait)
	}
	goOn() // deliver returns later than a cancel that does not wait
	cancel()
	if !ended.Load() {
		c.Error("cancel returned while deliver was running")
	}
}

func (c *busCheck) slow() {
	free := make(chan struct{})
	cancel, err := c.one.Subscribe(c.Context(), "a", func([]byte) { <-free })
	if err != nil {
		c.Fatal(err)
	}
	defer cancel()
	defer close(free)
	other, _ := c.subscribe(c.one, "a")
	elsewhere, _ := c.subscribe(c.two, "b")
	c.publishMany(c.two, "a", busBurst, number)
	c.publishMany(c.one, "b", 1, number)
	other.await(c, busBurst)
	elsewhere.await(c, 1)
}

// recovery checks that a subscriber that has lost messages is still subscribed.
func (c *busCheck) recovery() {
	free := make(chan struct{})
	var last atomic.Bool
	cancel, err := c.one.Subscribe(c.Context(), "a", func(msg []byte) {
		<-free
		if string(msg) == "last" {
			last.Store(true)
		}
	})
	if err != nil {
		c.Fatal(err)
	}
	defer cancel()
	open := sync.OnceFunc(func() { close(free) })
	defer open()
	c.publishMany(c.two, "a", busFlood, number)
	time.Sleep(busQuiet)
	open()
	for begun := time.Now(); !last.Load(); time.Sleep(busQuiet / 10) {
		if time.Since(begun) > busWait {
			c.Fatalf("a subscriber that was slow got no new message in %v", busWait)
		}
		c.publish(c.two, "a", "last")
	}
}

func (c *busCheck) ownership() {
	msg := []byte("message")
	here, _ := c.subscribe(c.one, "a")
	spoil, err := c.one.Subscribe(c.Context(), "a", func(msg []byte) { copy(msg, "MESSAGE") })
	if err != nil {
		c.Fatal(err)
	}
	defer spoil()
	for range 20 {
		if err := c.one.Publish(c.Context(), "a", msg); err != nil {
			c.Fatal(err)
		}
		copy(msg, "changed")
		copy(msg, "message")
	}
	for _, got := range here.await(c, 20) {
		if got != "message" {
			c.Fatalf("got %q, want a copy of its own for each subscriber", got)
		}
	}
}

func (c *busCheck) limits() {
	longest := strings.Repeat("t", maxBusTopic)
	b, _ := c.subscribe(c.two, longest)
	largest := []byte(strings.Repeat("m", maxBusMessage))
	c.publish(c.one, longest, string(largest))
	if got := b.await(c, 1); got[0] != string(largest) {
		c.Errorf("got a message of %d bytes, want %d", len(got[0]), len(largest))
	}
	c.publish(c.one, longest, "")
	b.await(c, 2)
	for name, tt := range map[string]struct {
		topic string
		msg   []byte
	}{
		"a longer topic":   {longest + "t", nil},
		"no topic":         {"", nil},
		"a space":          {"a b", nil},
		"a control":        {"a\x7f", nil},
		"not ASCII":        {"\u00e4", nil},
		"a larger message": {"a", append(largest, 'm')},
	} {
		if err := c.one.Publish(c.Context(), tt.topic, tt.msg); err == nil {
			c.Errorf("Publish with %s: got no error", name)
		}
		if len(tt.msg) > 0 {
			continue
		}
		if cancel, err := c.one.Subscribe(c.Context(), tt.topic, func([]byte) {}); err == nil {
			cancel()
			c.Errorf("Subscribe with %s: got no error", name)
		}
	}
}

func (c *busCheck) context() {
	ctx, cancel := context.WithCancel(c.Context())
	cancel()
	within(c.T, busWait, "calls whose context has ended", func() { // they may succeed, but must not wait
		_ = c.one.Publish(ctx, "a", nil)
		if cancel, err := c.one.Subscribe(ctx, "a", func([]byte) {}); err == nil {
			cancel()
		}
	})
}
