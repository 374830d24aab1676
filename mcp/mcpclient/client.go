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
	opts          *Options
	target        Target
	candidates    []*dialect.Facts // newest first
	middleware    middleware
	exchange      Exchange // sends requests, wrapped by the extensions
	tools         toolCache
	cache         cache
	credentials   *credentials // nil without Options.HTTP.Auth
	notifications *exchange.Dispatcher[func()]
	handlers      handlerActivity
	questionRates questionRates
	limits        *limit.Reporter
	level         atomic.Pointer[mcp.LoggingLevel]

	// Lifetime.
	ctx      context.Context // of handlers and of all work in the background
	cancel   context.CancelCauseFunc
	work     sync.WaitGroup
	requests sync.WaitGroup // under way
	started  chan struct{}  // closed when Connect has come to a connection

	mu                  sync.Mutex // guards the fields below
	closed              bool
	shuttingDown        bool // no request is to begin any more
	current             *connection
	lastRevision        mcp.Revision  // what was spoken the last time
	reconnecting        *reconnection // under way, or nil
	losses              lossHistory   // of connections
	suspendedUntil      time.Time     // until then there is no renewal; zero when there may be
	watchers            map[*watcher]struct{}
	delayedHandlers     map[string]*time.Timer        // by method of the notification
	pendingElicitations map[string]pendingElicitation // by id
	sentRoots           map[string]bool               // paths of the roots that were sent, and whether they exist
}

func newClient(t Target, opts *Options) *Client {
	c := &Client{
		opts:                opts,
		target:              t,
		watchers:            make(map[*watcher]struct{}),
		delayedHandlers:     make(map[string]*time.Timer),
		pendingElicitations: make(map[string]pendingElicitation),
		started:             make(chan struct{}),
	}
	c.candidates = dialect.Supported(c.opts.Revisions)
	c.questionRates = newQuestionRates(c.opts.questionRate())
	c.limits = &limit.Reporter{Hook: c.opts.OnLimit, Logger: c.opts.logger()}
	c.cache.maxBytes = c.opts.maxCache()
	if c.opts.HTTP.Auth != nil {
		c.credentials = &credentials{auth: c.opts.HTTP.Auth, cache: &c.cache, client: c}
	}
	c.lastRevision = c.opts.LastRevision
	c.notifications = exchange.NewDispatcher(c.run)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
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
	c.current, k.adoptedAt = k, time.Now()
	c.lastRevision = k.dialect().Facts.Revision
	c.goTrackedLocked(func() { c.monitor(k) })
}

// Shutdown is a Close that lets the requests under way finish first; new ones fail
// with ErrClosed. When ctx ends before they have, Shutdown closes the client all the
// same and returns the cause of ctx. It must not be called from a handler of the
// client.
func (c *Client) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	c.shuttingDown = true
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

// beginRequest counts a request in, unless the client is closed. Each needs one Done of
// requests.
func (c *Client) beginRequest() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shuttingDown || c.closed {
		return ErrClosed
	}
	c.requests.Add(1)
	return nil
}

// Close ends the connection: a session is ended on the server, a command is
// asked to exit and finally killed, a server of this process has returned.
// Calls under way fail with ErrClosed. Close waits until nothing of the client
// runs any more, and returns an error when that takes longer than
// Options.Timeouts.Close. It must not be called from a handler of the client.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	k := c.current
	for _, t := range c.delayedHandlers {
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
		c.notifications.Close()
		ended <- err
	}()
	ctx, cancel := withTimeout(context.Background(), c.opts.closeTimeout(), "not done within %v")
	defer cancel()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("close: %w", context.Cause(ctx))
	}
}

// goTracked runs f on a goroutine that Close waits for, unless the client is closed.
func (c *Client) goTracked(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.goTrackedLocked(f)
}

func (c *Client) goTrackedLocked(f func()) bool {
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
