package mcpclient

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// Client is a client of one server. Connect makes one.
//
// All methods are safe for concurrent use. Progress of a call is reported on
// the goroutine of the call. All other handlers for notifications and events
// run one after the other, in the order of arrival, on a goroutine of their
// own: a slow one delays the others and no call. When 1024 wait, the oldest is
// dropped. Handlers that answer the server run side by side. Any of them may
// call the client, except for Close.
type Client struct {
	opts        *Options
	target      Target
	candidates  []*dialect.Facts // newest first
	middleware  middleware
	exchange    Exchange // of requests, with the extensions folded in
	tools       toolCache
	cache       cache
	credentials *credentials // nil without Options.HTTP.Auth
	notes       *exchange.Dispatcher[func()]
	answers     answers
	asking      asking
	limits      *limit.Reporter
	level       atomic.Pointer[mcp.LoggingLevel]

	// Lifetime.
	ctx      context.Context // of handlers and of all work in the background
	cancel   context.CancelCauseFunc
	work     sync.WaitGroup
	requests sync.WaitGroup // under way
	started  chan struct{}  // closed when Connect has come to a connection

	mu         sync.Mutex // guards the fields below
	closed     bool
	leaving    bool // no request is to begin any more
	current    *connection
	remembered mcp.Revision // what was spoken the last time
	renewal    *renewal     // under way, or nil
	failures   failures     // of connections
	parked     time.Time    // until then there is no renewal; zero when there may be
	watchers   map[*watcher]struct{}
	spreads    map[string]*time.Timer // by method of the notification
	visiting   map[string]awaited     // visits that calls wait for, by id
	rootPaths  map[string]bool        // roots that the server was told, and whether they are there
}

func newClient(t Target, opts *Options) *Client {
	c := &Client{
		opts:     opts,
		target:   t,
		watchers: make(map[*watcher]struct{}),
		spreads:  make(map[string]*time.Timer),
		visiting: make(map[string]awaited),
		started:  make(chan struct{}),
	}
	c.candidates = dialect.Supported(c.opts.Revisions)
	c.asking = newAsking(c.opts.questionRate())
	c.limits = &limit.Reporter{Hook: c.opts.OnLimit, Logger: c.opts.logger()}
	c.cache.most = c.opts.maxCache()
	if c.opts.HTTP.Auth != nil {
		c.credentials = &credentials{auth: c.opts.HTTP.Auth, cache: &c.cache, client: c}
	}
	c.remembered = c.opts.LastRevision
	c.notes = exchange.NewDispatcher(c.run)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.foldExtensions()
	if l := c.opts.LogLevel; l != "" {
		c.level.Store(&l)
	}
	return c
}

// run runs one handler, and none before there is a client to call.
func (c *Client) run(handler func()) {
	select {
	case <-c.started:
		handler()
	case <-c.ctx.Done():
	}
}

// start makes k the client's first connection.
func (c *Client) start(ctx context.Context, k *connection) {
	c.mu.Lock()
	c.adopt(k)
	c.mu.Unlock()
	close(c.started)
	c.emit(Event{Kind: EventConnected})
	c.followLists(ctx)
}

// adopt makes k the current connection. The caller holds mu.
func (c *Client) adopt(k *connection) {
	c.current, k.begun = k, time.Now()
	c.remembered = k.dialect().Facts.Revision
	c.beginLocked(func() { c.mind(k) })
}

// Shutdown is a Close that lets the requests under way finish first; new ones fail
// with ErrClosed. When ctx ends before they have, Shutdown closes the client all the
// same and returns the cause of ctx. It must not be called from a handler of the
// client.
func (c *Client) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	c.leaving = true
	c.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.requests.Wait()
	}()
	var late error
	select {
	case <-done:
	case <-ctx.Done():
		late = context.Cause(ctx)
	}
	return cmp.Or(late, c.Close())
}

// enter counts a request in, unless the client is closed. Each needs one Done of
// requests.
func (c *Client) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving || c.closed {
		return ErrClosed
	}
	c.requests.Add(1)
	return nil
}

// Close ends the connection: a session is ended on the server, a command is
// told to exit and in the end killed, a server of this process has returned.
// Calls under way fail with ErrClosed. Close waits until nothing of the client
// runs any more, and returns an error when that takes longer than
// Options.Timeouts.Close. It must not be called from a handler of the client.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	k := c.current
	for _, t := range c.spreads {
		t.Stop()
	}
	c.mu.Unlock()
	c.cancel(ErrClosed)
	ended := make(chan error, 1)
	go func() {
		var err error
		if k != nil {
			err = k.link.Close()
		}
		c.work.Wait()
		c.notes.Close()
		ended <- err
	}()
	ctx, cancel := bounded(context.Background(), c.opts.closeTimeout(), "not done within %v")
	defer cancel()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("close: %w", context.Cause(ctx))
	}
}

// begin runs f on a goroutine that Close waits for, unless the client is closed.
func (c *Client) begin(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.beginLocked(f)
}

func (c *Client) beginLocked(f func()) bool {
	if c.closed {
		return false
	}
	c.work.Go(f)
	return true
}

// Server returns what the server says of itself, which is fit to show and to
// log only. It is zero when the server does not say. Like those of everything that
// is listed, its icons have passed Icon.Check; others are left out.
func (c *Client) Server() mcp.Implementation {
	server := c.agreement().server
	server.Icons = c.icons(server.Name, server.Icons)
	return server
}

// Capabilities returns what the server offers.
func (c *Client) Capabilities() mcp.ServerCapabilities { return c.agreement().capabilities }

// Instructions returns the server's guidance for a model, often empty.
func (c *Client) Instructions() string { return c.agreement().instructions }

// Revision returns the revision that is spoken. It can change when a lost
// connection is made anew.
func (c *Client) Revision() mcp.Revision { return c.agreement().dialect.Facts.Revision }

func (c *Client) agreement() *agreement {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.agreed.Load()
}
