package mcptest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// simulatedServer is the server of an engine in memory, with the faults of mcptest.Engine. Its
// flags break rules.
type simulatedServer struct {
	halfWrites         bool // a write whose connection is cut leaves a part of the value
	repeats            bool // a client repeats what may have happened
	staysCut           bool // clients do not connect again
	duplicates         bool // messages are delivered twice after a cut
	losesData          bool // at a restart
	losesExpiry        bool // at a restart
	losesSubscriptions bool // at a restart
	claimsSuccess      bool // writes report success while the server is stopped
	ignoresDeadlines   bool // calls end after callTimeout only
	waitsForever       bool // calls without a deadline do not end
	takesTooMuch       bool // writes report success while there is no room

	mu      sync.Mutex
	store   *mcpserver.MemoryStore   // guarded by mu
	bus     *mcpserver.MemoryBus     // guarded by mu
	events  *plainEvents             // guarded by mu
	ttls    map[string]time.Duration // guarded by mu: of the last write
	cutAt   int                      // guarded by mu: counts cuts
	stopped bool                     // guarded by mu
	full    bool                     // guarded by mu
	open    chan struct{}            // guarded by mu: closed while the server answers
}

// callTimeout is when a call without a deadline ends that gets no answer.
const callTimeout = 2 * time.Second

var (
	errDown = errors.New("engine: no connection")
	errCut  = errors.New("engine: connection lost, the call may have happened")
	errFull = errors.New("engine: no room")
)

func newSimulatedServer() *simulatedServer {
	s := &simulatedServer{open: make(chan struct{}), ttls: make(map[string]time.Duration)}
	close(s.open)
	s.store, s.bus, s.events = new(mcpserver.MemoryStore), new(mcpserver.MemoryBus), new(plainEvents)
	return s
}

// engine returns the server for CheckFaults. Its clock is that of the process.
func (s *simulatedServer) engine() mcptest.Engine {
	set := func(f func()) func() {
		return func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			f()
		}
	}
	return mcptest.Engine{
		Open: func(*testing.T) (mcp.Store, mcp.Bus, mcp.EventStore) {
			c := &simulatedClient{server: s}
			return c, c, c
		},
		Cut:     set(func() { s.cutAt++ }),
		Stop:    set(func() { s.stopped = true }),
		Start:   set(s.start),
		Block:   set(func() { s.open = make(chan struct{}) }),
		Unblock: set(func() { close(s.open) }),
		Fill:    set(func() { s.full = true }),
		Drain:   set(func() { s.full = false }),

		OneClock: true,
	}
}

// start ends a stop. The caller holds mu.
func (s *simulatedServer) start() {
	s.stopped = false
	if s.losesData {
		s.store, s.events = new(mcpserver.MemoryStore), new(plainEvents)
	}
	if s.losesExpiry {
		for key := range s.ttls {
			if value, found, _ := s.store.Get(context.Background(), key); found {
				_ = s.store.Put(context.Background(), key, value, 0)
			}
		}
	}
	if s.losesSubscriptions {
		s.bus = new(mcpserver.MemoryBus)
	}
}

// cuts returns how often the connections were cut.
func (s *simulatedServer) cuts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cutAt
}

// simulatedClient is a connection to a simulatedServer.
type simulatedClient struct{ server *simulatedServer }

// call runs f as a call of the server. partly is what halfWrites does when the connection is
// cut; nil is nothing.
func (c *simulatedClient) call(ctx context.Context, write bool, f, partly func() error) error {
	s := c.server
	s.mu.Lock()
	stopped, full, open, cuts := s.stopped, s.full, s.open, s.cutAt
	s.mu.Unlock()
	switch {
	case stopped && write && s.claimsSuccess, full && write && s.takesTooMuch:
		return nil
	case stopped:
		return errDown
	case s.staysCut && cuts > 0:
		return errCut
	case full && write:
		return errFull
	}
	if err := c.await(ctx, open); err != nil {
		return err
	}
	time.Sleep(time.Millisecond) // the request is on its way
	if s.cuts() != cuts {
		c.writeHalf(partly)
		return errCut
	}
	err := f()
	time.Sleep(time.Millisecond) // the response is on its way
	switch {
	case s.cuts() == cuts:
		return err
	case s.halfWrites:
		c.writeHalf(partly)
		return errCut
	case s.repeats:
		return f()
	default:
		return errCut
	}
}

func (c *simulatedClient) writeHalf(partly func() error) {
	if c.server.halfWrites && partly != nil {
		_ = partly()
	}
}

// await waits until the server answers.
func (c *simulatedClient) await(ctx context.Context, open <-chan struct{}) error {
	select {
	case <-open: // however late this goroutine runs
		return nil
	default:
	}
	deadline, timeout := ctx.Done(), time.After(callTimeout)
	if c.server.ignoresDeadlines {
		deadline, timeout = nil, time.After(4*time.Second)
	}
	if c.server.waitsForever {
		timeout = nil
	}
	select {
	case <-open:
		return nil
	case <-deadline:
		return ctx.Err()
	case <-timeout:
		return errDown
	}
}

func (c *simulatedClient) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	err = c.call(ctx, false, func() (err error) {
		value, found, err = c.server.store.Get(ctx, key)
		return err
	}, nil)
	return value, found, err
}

func (c *simulatedClient) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	s := c.server
	return c.call(ctx, true, func() error {
		s.mu.Lock()
		s.ttls[key] = ttl
		s.mu.Unlock()
		return s.store.Put(ctx, key, value, ttl)
	}, func() error { return s.store.Put(ctx, key, value[:len(value)/2], ttl) })
}

func (c *simulatedClient) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (created bool, err error) {
	err = c.call(ctx, true, func() (err error) {
		created, err = c.server.store.Create(ctx, key, value, ttl)
		return err
	}, nil)
	return created && err == nil, err
}

func (c *simulatedClient) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (swapped bool, err error) {
	err = c.call(ctx, true, func() (err error) {
		swapped, err = c.server.store.Swap(ctx, key, old, value, ttl)
		return err
	}, nil)
	return swapped && err == nil, err
}

func (c *simulatedClient) Delete(ctx context.Context, key string) error {
	return c.call(ctx, false, func() error { return c.server.store.Delete(ctx, key) }, nil)
}

func (c *simulatedClient) List(ctx context.Context, prefix, after string, limit int) (keys []string, err error) {
	err = c.call(ctx, false, func() (err error) {
		keys, err = c.server.store.List(ctx, prefix, after, limit)
		return err
	}, nil)
	return keys, err
}

func (c *simulatedClient) Publish(ctx context.Context, topic string, msg []byte) error {
	s := c.server
	before := s.cuts()
	return c.call(ctx, false, func() error {
		s.mu.Lock()
		bus := s.bus
		s.mu.Unlock()
		if s.duplicates && before%2 == 1 {
			_ = bus.Publish(ctx, topic, msg)
		}
		return bus.Publish(ctx, topic, msg)
	}, nil)
}

func (c *simulatedClient) Subscribe(ctx context.Context, topic string, deliver func([]byte)) (cancel func(), err error) {
	err = c.call(ctx, false, func() (err error) {
		cancel, err = c.server.bus.Subscribe(ctx, topic, deliver)
		return err
	}, nil)
	return cancel, err
}

func (c *simulatedClient) Append(ctx context.Context, stream string, n int64, msg []byte) error {
	return c.call(ctx, true, func() error { return c.server.events.Append(ctx, stream, n, msg) },
		func() error { return c.server.events.Append(ctx, stream, n, msg[:len(msg)/2]) })
}

func (c *simulatedClient) After(ctx context.Context, stream string, n int64) (msgs [][]byte, err error) {
	err = c.call(ctx, false, func() (err error) {
		msgs, err = c.server.events.After(ctx, stream, n)
		return err
	}, nil)
	return msgs, err
}

func (c *simulatedClient) Trim(ctx context.Context, stream string, n int64) error {
	return c.call(ctx, false, func() error { return c.server.events.Trim(ctx, stream, n) }, nil)
}

func TestEngineWithFaultsPassesItsCheck(t *testing.T) {
	t.Parallel()
	mcptest.CheckFaults(t, newSimulatedServer().engine())
}

func TestVolatileEngineMayLoseData(t *testing.T) {
	t.Parallel()
	s := newSimulatedServer()
	s.losesData = true
	engine := s.engine()
	engine.Volatile = true
	mcptest.CheckFaults(t, engine)
}

// brokenUnderFaults are engines by what is wrong with them under faults, and the subtests that
// find it.
var brokenUnderFaults = map[string]struct {
	fails  string
	change func(s *simulatedServer, e *mcptest.Engine)
}{
	"writes halves":                         {"values survive cut connections", func(s *simulatedServer, _ *mcptest.Engine) { s.halfWrites = true }},
	"writes halves of events":               {"events survive cut connections", func(s *simulatedServer, _ *mcptest.Engine) { s.halfWrites = true }},
	"repeats what may have happened":        {"values survive cut connections", func(s *simulatedServer, _ *mcptest.Engine) { s.repeats = true }},
	"does not connect again":                {"values survive cut connections", func(s *simulatedServer, _ *mcptest.Engine) { s.staysCut = true }},
	"does not connect its bus again":        {"subscriptions survive cut connections", func(s *simulatedServer, _ *mcptest.Engine) { s.staysCut = true }},
	"delivers twice":                        {"subscriptions survive cut connections", func(s *simulatedServer, _ *mcptest.Engine) { s.duplicates = true }},
	"loses data":                            {"the server restarts", func(s *simulatedServer, _ *mcptest.Engine) { s.losesData = true }},
	"loses the expiry":                      {"the server restarts", func(s *simulatedServer, _ *mcptest.Engine) { s.losesExpiry = true }},
	"loses subscriptions":                   {"the server restarts", func(s *simulatedServer, _ *mcptest.Engine) { s.losesSubscriptions = true }},
	"claims success without a server":       {"the server restarts", func(s *simulatedServer, _ *mcptest.Engine) { s.claimsSuccess = true }},
	"ignores deadlines":                     {"the server does not answer", func(s *simulatedServer, _ *mcptest.Engine) { s.ignoresDeadlines = true }},
	"waits forever without a deadline":      {"the server does not answer", func(s *simulatedServer, _ *mcptest.Engine) { s.waitsForever = true }},
	"takes more than there is room for":     {"there is no room", func(s *simulatedServer, _ *mcptest.Engine) { s.takesTooMuch = true }},
	"decides expiry by the replica's clock": {"clocks differ", func(_ *simulatedServer, e *mcptest.Engine) { e.OneClock = false }},
}
