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
	"github.com/fondaco/fondaco/mcp/internal/drain"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/resultcache"
)

// Client is a client of one server. Connect makes one.
//
// All methods are safe for concurrent use. The handler of WithProgress runs on the
// goroutine of the call. All other handlers of notifications and events run one at a
// time, in the order of arrival, on a goroutine of the client: a slow handler delays
// the next ones, but no call. If 1024 notifications wait, the oldest is dropped. A server that
// sends more than 10,000 notifications at once, and then 1,000 a second, is read more slowly.
// Handlers that answer the server run concurrently. Any handler may call the client,
// but not Close or Shutdown.
type Client struct {
	opts             *Options
	target           Target
	candidates       []*dialect.Facts // newest first
	middleware       middleware
	exchange         Exchange // sends requests, wrapped by the extensions
	tools            toolCache
	surface          lookup[mcp.Fingerprint] // for PinOptions.Server
	cache            resultcache.Cache
	outage           outage       // for CacheOptions.StaleIfError
	credentials      *credentials // nil without Options.HTTP.Auth
	notifications    *exchange.Dispatcher[func()]
	handlers         handlerActivity
	questionRates    questionRates
	notificationRate *limit.Bucket
	sessionLosses    httpclient.SessionLosses
	limits           *limit.Reporter
	level            atomic.Pointer[mcp.LoggingLevel]
	capabilities     sync.Map              // of *dialect.Facts to *mcp.ClientCapabilities; see declared
	logRate          limit.LogRate[string] // see warnOfServer

	// Lifetime.
	ctx      context.Context // of handlers and of all work in the background
	cancel   context.CancelCauseFunc
	work     sync.WaitGroup
	requests drain.Group   // in flight
	started  chan struct{} // closed when Connect has a connection

	mu                  sync.Mutex // guards the fields below
	closed              bool
	current             *connection
	prior               *Prior        // until the first connection uses it
	lastRevision        mcp.Revision  // of the last negotiation
	reconnecting        *reconnection // the one that runs, or nil
	losses              lossHistory   // of connections
	suspendedUntil      time.Time     // until then the client does not reconnect; zero if it is not suspended
	watchers            map[*watcher]struct{}
	delayedHandlers     map[string]*time.Timer        // by method of the notification
	pendingElicitations map[string]pendingElicitation // by id
	sentRoots           map[string]bool               // by path of each root that was sent: whether it exists
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
	c.notificationRate = newNotificationRate()
	c.limits = &limit.Reporter{Hook: c.opts.OnLimit, Logger: c.opts.logger()}
	if c.opts.HTTP.Auth != nil {
		c.credentials = &credentials{auth: c.opts.HTTP.Auth, client: c}
	}
	if c.prior = c.opts.Prior; c.prior != nil {
		c.lastRevision = c.prior.Revision
	}
	c.notifications = exchange.NewDispatcher(c.run)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	if l := c.opts.LogLevel; l != "" {
		c.level.Store(&l)
	}
	return c
}

// run runs one handler of a notification. It waits until Connect has a connection,
// because the handler may call the client.
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
	c.setCurrentLocked(k)
	c.mu.Unlock()
	close(c.started)
	c.emit(Event{Kind: EventConnected})
	c.followLists(ctx, !k.assumed.Load())
}

// setCurrentLocked makes k the current connection.
func (c *Client) setCurrentLocked(k *connection) {
	c.current, k.currentSince = k, time.Now()
	if !k.assumed.Load() {
		c.lastRevision = k.dialect().Facts.Revision
	}
	c.goTrackedLocked(func() { c.monitor(k) })
}

// Shutdown waits until the requests in flight have finished, then closes the client.
// New requests fail with ErrClosed. If ctx ends first, Shutdown closes the client
// without waiting further and returns the cause of ctx; otherwise it returns what Close
// returns. It must not be called from a handler of the client.
func (c *Client) Shutdown(ctx context.Context) error {
	return cmp.Or(c.requests.Drain(ctx), c.Close())
}

// Close ends the connection and waits until no goroutine of the client runs. It ends a
// session at the server. It asks a command to exit and finally kills it. It cancels the
// context of an InProcess server and waits for its Serve. Calls in flight fail with
// ErrClosed. If all of that takes longer than Options.Timeouts.Close, Close returns an
// error. It must not be called from a handler of the client. Later calls do no harm.
func (c *Client) Close() error {
	c.requests.Close()
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

// Server returns the server's description of itself. It is not verified: use it only to
// show and to log it. It is zero if the server sends none. Icons that do not pass
// Icon.Check are left out, here and in all lists.
func (c *Client) Server() mcp.Implementation {
	server := c.agreement().server
	server.Icons = c.checkedIcons(server.Name, server.Icons)
	return server
}

// Capabilities returns the capabilities that the server has declared.
func (c *Client) Capabilities() mcp.ServerCapabilities { return c.agreement().capabilities }

// Instructions returns the server's guidance for a model, often empty.
func (c *Client) Instructions() string { return c.agreement().instructions }

// Revision returns the negotiated revision. It can change when the client reconnects.
func (c *Client) Revision() mcp.Revision { return c.agreement().dialect.Facts.Revision }

// ProcessID returns the process id of the program that the client has started last, see CommandTarget, and 0
// for a server that is no program. It can change when the client reconnects, and the process may have ended.
func (c *Client) ProcessID() int { return c.lastConnection().pid }

// lastConnection returns the connection in use, or the one before if it has ended. It is called
// after the handshake.
func (c *Client) lastConnection() *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// agreement returns what was agreed with the server, or nil before the handshake.
func (c *Client) agreement() *agreement {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return nil
	}
	return c.current.agreed.Load()
}
