package mcptest

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Engine is a Store, a Bus and an EventStore, or some of them, on a server whose failures a test
// can cause. [CheckFaults] tests it. A function that is nil leaves out the faults that need it.
// The functions other than Open are called by one goroutine at a time, while calls are running.
type Engine struct {
	// Open returns a new connection to the engine, as each replica has one. All connections
	// reach the same data. What the engine does not have is nil. What has to be closed is
	// closed by t.Cleanup.
	Open func(t *testing.T) (mcp.Store, mcp.Bus, mcp.EventStore)

	// Cut closes all connections between clients and the server. The server accepts new ones
	// at once. A proxy between the two can do that.
	Cut func()

	// Stop ends the server, so that it cannot be reached. Start starts it again with the same
	// data, and returns when it accepts connections.
	Stop, Start func()
	// Volatile says that data may be lost when the server stops.
	Volatile bool

	// Block makes the server answer nothing, on present and new connections, which stay open.
	// Unblock ends that.
	Block, Unblock func()

	// Fill makes the server refuse more data because there is no room. Up to 16 MiB of room
	// may be left. Drain makes room again.
	Fill, Drain func()

	// OneClock leaves out the check that clocks of replicas may differ. That check opens a
	// connection in a bubble of testing/synctest, whose clock shows the year 2000. It cannot
	// be done over TLS, nor with a client library that keeps timers in global variables, nor
	// with an engine that is a part of the process.
	OneClock bool
}

// faultTimeout is the deadline of the contexts of calls while the engine fails.
const faultTimeout = 300 * time.Millisecond

// The tests of the checks shorten these times.
var (
	// contextSlack is how much later than the deadline of its context a call may end.
	contextSlack = 3 * time.Second
	// callWait is when calls without a deadline have to end: an engine has 5 seconds.
	callWait = 10 * time.Second
	// hangWait is when a call hangs that should have ended at once.
	hangWait = 2 * time.Minute
	// recoveryWait is how long the engine may take to work again after a fault, also on a busy
	// machine.
	recoveryWait = 2 * time.Minute
)

// maxLate is how often a call may be late. A busy machine makes calls late, but not each time.
const maxLate = 5

// CheckFaults tests what an engine does while its server fails, and afterwards. It expects for
// each fault:
//
//   - The connection is cut in mid-write: a write that returned an error has happened or not,
//     but never in part. Reading decides which. Create and Swap report false only if another
//     value is there, so the engine does not repeat them by itself without looking. No message
//     of a Bus is delivered twice or out of order.
//   - The server restarts: what was written is there, unless the engine is Volatile, and still
//     expires. Calls and subscriptions work again on the connections that are open.
//   - The server does not answer, or is stopped: calls of Store and EventStore fail when their
//     context ends or after 5 seconds, whichever is first. Those of Bus end in that time; Publish
//     may keep the message and report no error. cancel of a subscription does not wait for the
//     server.
//   - There is no room: writes fail, values stay as they were, reading goes on.
//   - The clocks of replicas differ: expiry is decided by the engine, not by comparing the clock
//     of the replica that writes with that of the one that reads.
//
// After a fault an engine has to work again; the check waits two minutes for that. It tries a call
// that is late again, because the machine may be busy. CheckFaults runs subtests one after the
// other, because each concerns the whole server; do not use the server for other tests at the
// same time. Keys, topics and streams begin with a random text. Use it together with [CheckStore],
// [CheckBus] and [CheckEventStore], which test the engine without faults.
func CheckFaults(t *testing.T, engine Engine) {
	t.Helper()
	has := func(fs ...func()) bool {
		for _, f := range fs {
			if f == nil {
				return false
			}
		}
		return true
	}
	for _, fault := range []struct {
		name  string
		check func(*faultCheck)
		can   bool
	}{
		{"values survive cut connections", (*faultCheck).cutStore, has(engine.Cut)},
		{"subscriptions survive cut connections", (*faultCheck).cutBus, has(engine.Cut)},
		{"events survive cut connections", (*faultCheck).cutEvents, has(engine.Cut)},
		{"the server restarts", (*faultCheck).restart, has(engine.Stop, engine.Start)},
		{"the server does not answer", (*faultCheck).block, has(engine.Block, engine.Unblock)},
		{"there is no room", (*faultCheck).full, has(engine.Fill, engine.Drain)},
		{"clocks differ", (*faultCheck).clocks, !engine.OneClock},
	} {
		if fault.can {
			t.Run(fault.name, func(t *testing.T) { fault.check(newFaultCheck(t, engine)) })
		}
	}
}

// faultCheck is the state of one subtest: the connections of two replicas.
type faultCheck struct {
	*testing.T
	engine   Engine
	prefix   string // of all keys, topics and streams
	replicas [2]replica
}

// replica is one connection to the engine. What the engine does not have is nil.
type replica struct {
	store  mcp.Store
	bus    mcp.Bus
	events mcp.EventStore
}

func newFaultCheck(t *testing.T, engine Engine) *faultCheck {
	t.Helper()
	c := &faultCheck{T: t, engine: engine, prefix: rand.Text()[:10] + "/"}
	for i := range c.replicas {
		r := &c.replicas[i]
		r.store, r.bus, r.events = engine.Open(t)
	}
	return c
}

// stream returns the name of a stream, which is shorter than a key.
func (c *faultCheck) stream(name string) string { return c.prefix + name }

// eventually calls f until it returns no error, and fails the test if it does not in time. Each
// call has a context of its own.
func (c *faultCheck) eventually(what string, f func(ctx context.Context) error) {
	c.Helper()
	if err := c.tryUntil(f); err != nil {
		c.Fatalf("%s: %v after %v, want that it works again", what, err, recoveryWait)
	}
}

// tryUntil calls f until it returns no error or recoveryWait is over.
func (c *faultCheck) tryUntil(f func(ctx context.Context) error) error {
	for begun := time.Now(); ; time.Sleep(faultTimeout / 10) {
		ctx, cancel := context.WithTimeout(c.Context(), hangWait)
		err := f(ctx)
		cancel()
		if err == nil || time.Since(begun) > recoveryWait {
			return err
		}
	}
}

// value returns the value of a key, as soon as it can be read. It can be called by any goroutine,
// which has to end if it reports false.
func (c *faultCheck) value(s mcp.Store, key string) (value []byte, found, ok bool) {
	err := c.tryUntil(func(ctx context.Context) (err error) {
		value, found, err = s.Get(ctx, key)
		return err
	})
	if err != nil {
		c.Errorf("Get %q: %v after %v, want that it works again", key, err, recoveryWait)
	}
	return value, found, err == nil
}

// faultCall is a call of an engine that fails.
type faultCall struct {
	name    string
	mayPass bool // the call may succeed nevertheless, for a Bus may keep messages
	call    func(ctx context.Context, r replica) error
}

// calls returns each method of the engine.
func (c *faultCheck) calls() []faultCall {
	key, stream := c.prefix+"fails", c.stream("fails")
	var all []faultCall
	if c.replicas[0].store != nil {
		all = append(all,
			faultCall{"Get", false, func(ctx context.Context, r replica) error { _, _, err := r.store.Get(ctx, key); return err }},
			faultCall{"Put", false, func(ctx context.Context, r replica) error { return r.store.Put(ctx, key, nil, 0) }},
			faultCall{"Create", false, func(ctx context.Context, r replica) error { _, err := r.store.Create(ctx, key, nil, 0); return err }},
			faultCall{"Swap", false, func(ctx context.Context, r replica) error { _, err := r.store.Swap(ctx, key, nil, nil, 0); return err }},
			faultCall{"Delete", false, func(ctx context.Context, r replica) error { return r.store.Delete(ctx, key) }},
			faultCall{"List", false, func(ctx context.Context, r replica) error { _, err := r.store.List(ctx, c.prefix, "", 10); return err }})
	}
	if c.replicas[0].bus != nil {
		all = append(all,
			faultCall{"Publish", true, func(ctx context.Context, r replica) error { return r.bus.Publish(ctx, key, nil) }},
			faultCall{"Subscribe", true, func(ctx context.Context, r replica) error {
				cancel, err := r.bus.Subscribe(ctx, key, func([]byte) {})
				if err == nil {
					cancel()
				}
				return err
			}})
	}
	if c.replicas[0].events != nil {
		all = append(all,
			faultCall{"Append", false, func(ctx context.Context, r replica) error { return r.events.Append(ctx, stream, 1, nil) }},
			faultCall{"After", false, func(ctx context.Context, r replica) error { _, err := r.events.After(ctx, stream, 0); return err }},
			faultCall{"Trim", false, func(ctx context.Context, r replica) error { return r.events.Trim(ctx, stream, 1) }})
	}
	return all
}

// callsFail checks that all calls fail in time, with a deadline and without one.
func (c *faultCheck) callsFail(state string) {
	c.Helper()
	var all sync.WaitGroup
	for _, fault := range c.calls() {
		all.Go(func() {
			c.callFails(fault, c.replicas[0], faultTimeout, faultTimeout+contextSlack, state+", with a deadline of "+faultTimeout.String())
		})
		all.Go(func() { c.callFails(fault, c.replicas[1], 0, callWait, state) })
	}
	all.Wait()
}

// callFails checks that a call fails within the limit. A deadline of 0 is none.
func (c *faultCheck) callFails(fault faultCall, r replica, deadline, limit time.Duration, state string) {
	for range maxLate {
		ctx := c.Context()
		if deadline > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, deadline)
			defer cancel()
		}
		ended := make(chan error, 1)
		go func() { ended <- fault.call(ctx, r) }() // stays if the call hangs, which fails the test
		select {
		case err := <-ended:
			if err == nil && !fault.mayPass {
				c.Errorf("%s while %s: got no error", fault.name, state)
			}
			return
		case <-time.After(limit):
		}
	}
	c.Errorf("%s while %s: no end after %v, %d times", fault.name, state, limit, maxLate)
}

// callsWork checks that all calls succeed again, on both replicas.
func (c *faultCheck) callsWork() {
	c.Helper()
	for _, r := range c.replicas {
		for _, call := range c.calls() {
			c.eventually(call.name, func(ctx context.Context) error { return call.call(ctx, r) })
		}
	}
}
