package gateway

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxRetryWait is the longest pause before the next attempt for which a call waits;
	// if the pause is longer the call fails at once.
	maxRetryWait = 3 * time.Second
	// refreshWait is how long a request waits for a read of the lists.
	refreshWait = 5 * time.Second
	// pingTimeout is how long a server has to answer a ping when its connection seems
	// lost.
	pingTimeout = 5 * time.Second
	// maxReason limits the reason of a state, in bytes: an error may have text of the server.
	maxReason = 4 << 10
)

// connection is one connection to an upstream that is made again when it is lost:
//
//	idle ──used──▶ starting ──▶ ready ──unused──▶ idle
//	                │    ▲         │
//	           failure  pause     loss
//	                ▼    │         │
//	               failed ◀────────┘
//	                │
//	            five in a minute ──▶ suspended ──two minutes──▶ starting
//
// A session that the server no longer knows is replaced by the client, which sends the
// refused calls again; run then pings the server, and the connection stays or becomes
// ready. Whether calls succeed is not a state of a connection, see callHealth.
//
// A start that needs approval or a sign-in is not repeated until Gateway.Retry is called.
// The goroutine of run makes all transitions. Other goroutines take a lease and wait for
// the state ready.
type connection struct {
	connectionParams
	backoff backoff

	sessionsLost atomic.Int64 // how often the client has lost a session
	// listedAt is sessionsLost when the last read of the lists began, or -1 before the first read
	// since the server was connected to. Only the goroutine of run uses it.
	listedAt int64

	wakeSignal    chan struct{} // one token: a lease waits for an idle connection
	restartSignal chan struct{} // one token: connect now, whatever has failed before
	listsChanged  chan struct{} // one token: the lists may have changed
	listsAwaited  chan struct{} // one token: a request waits for the lists
	lost          chan error    // why the client's connection seems to have ended
	statusChanged chan struct{} // one token: the status has changed, but not the state
	// logLevelChanged has one token: the caller's session may have set another level.
	logLevelChanged chan struct{}
	cancel          func() // ends run; nil for the shared connection
	// ended is done when run has returned, with its process; nil for the shared connection.
	ended context.Context
	// owner is the owner to which a caller's connection counts.
	owner mcpserver.Owner

	mu              sync.Mutex            // guards the fields below
	refreshed       chan struct{}         // closed when readLists or readFeatures has returned
	refreshDeadline time.Time             // requests wait until then for a read of the lists; zero if none is due
	unread          bool                  // the lists may have changed since they were read
	features        *callerFeatures       // of the connection's caller alone, or nil
	featuresPlace   *mcpserver.OwnerPlace // of the features, or nil
	state           host.State
	reason          string
	retry           time.Time // next attempt when failed or suspended
	client          *mcpclient.Client
	stateChanged    chan struct{} // closed at the next change of state
	leases          int
	calls           []*call       // in which the server may ask, oldest first
	callAdded       chan struct{} // closed when a call is added
	hadCall         bool          // a call was answered since the connection is ready
	lastUsed        time.Time
	logLevel        mcp.LoggingLevel // that was requested of the server, or empty
	sessionLevel    mcp.LoggingLevel // that the caller's session has set, or empty
	cancelled       cancelledCalls   // in which the server may still ask
	closed          bool             // run has ended, or is about to
	evicted         bool             // closed for another owner
	// places are the places of a caller's connection in the pools that limit such connections. busy
	// says whether they are marked as in use.
	places []*mcpserver.OwnerPlace
	busy   bool
}

type connectionParams struct {
	// session is that of the caller, or nil if the connection is shared or the caller has none.
	session *mcpserver.Session
	connect func(context.Context, *connection) (*mcpclient.Client, error)
	// connectWait is how long a call waits while the connection is being made.
	connectWait time.Duration
	// readLists runs before a connection is ready and whenever the lists may have
	// changed. It may be nil.
	readLists func(context.Context, *mcpclient.Client) error
	// readFeatures runs instead whenever the lists may have changed, and not before the
	// connection is ready. It may wait for its turn, and returns when the read began, or zero if it
	// did not. It may be nil.
	readFeatures func(context.Context, *mcpclient.Client) (began time.Time)
	// featuresDropped is called when the features of the connection are no longer offered,
	// because it was lost. It may be nil.
	featuresDropped func(changedLists)
	// permanent connections are retried without being used. Others are closed when nobody
	// uses them.
	permanent bool
	// extra connections of a caller are for concurrent calls. They keep no state.
	extra bool
	// lazy connections are not made before the first lease.
	lazy bool
	// idleTimeout is how long a connection may be unused. Zero means no limit.
	idleTimeout time.Duration
	// onStateChange is called after each change of state. It may be nil.
	onStateChange func()
	log           *slog.Logger
}

func newConnection(p connectionParams) *connection {
	l := &connection{
		connectionParams: p,
		wakeSignal:       make(chan struct{}, 1), restartSignal: make(chan struct{}, 1),
		listsChanged: make(chan struct{}, 1), listsAwaited: make(chan struct{}, 1), refreshed: make(chan struct{}), lost: make(chan error, 1), statusChanged: make(chan struct{}, 1), logLevelChanged: make(chan struct{}, 1),
		state: host.Starting, stateChanged: make(chan struct{}), callAdded: make(chan struct{}),
	}
	if p.lazy {
		l.state = host.Idle
	}
	return l
}

// errConnectionClosed is the error of a lease of a closed connection. The caller may
// start another one.
var errConnectionClosed = errors.New("the connection is closed")

// run connects and reconnects until ctx is done or a connection that is not permanent is
// unused.
func (c *connection) run(ctx context.Context) {
	defer c.markClosed()
	for c.waitToStart(ctx) {
		c.setState(host.Starting, "", time.Time{})
		client, err := c.connect(ctx, c)
		began := time.Now()
		if err == nil {
			err = c.serve(ctx, client)
		}
		c.recordEnd(err, time.Since(began))
		if client != nil {
			c.closeClient(client)
		}
		c.dropFeatures()
	}
}

// waitToStart waits until it is time to connect. It reports false when the connection is
// to be closed.
func (c *connection) waitToStart(ctx context.Context) bool {
	for {
		state, due := c.nextStart()
		var timer <-chan time.Time
		switch {
		case ctx.Err() != nil:
			return false
		case state == host.Starting:
			return true
		case !due.IsZero():
			timer = time.After(time.Until(due))
		}
		select {
		case <-ctx.Done():
			return false
		case <-c.restartSignal:
			c.backoff = backoff{}
			return true
		case <-c.wakeSignal:
			if state == host.Idle && c.inUse() { // otherwise the token is stale
				return true
			}
		case <-timer:
			if state == host.Idle {
				return false
			}
			if c.permanent || c.inUse() {
				return true
			}
			c.setState(host.Idle, "", time.Time{})
		}
	}
}

// nextStart returns the state and the time of the next transition, which is zero if no time is set.
func (c *connection) nextStart() (host.State, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == host.Idle && !c.permanent {
		return c.state, time.Now().Add(failureWindow) // the failures count until then
	}
	return c.state, c.retry
}

// serve makes the client available to leases until the connection is lost, which is an error, or
// unused, which is no error.
func (c *connection) serve(ctx context.Context, client *mcpclient.Client) error {
	c.listedAt = -1
	if err := c.readInitialLists(ctx, client); err != nil {
		return err
	}
	c.resetLogLevel()
	c.setReady(client)
	unused := time.NewTimer(c.idleTimeout)
	defer unused.Stop()
	if c.idleTimeout == 0 {
		unused.Stop()
	}
	var pace refreshPace
	var reading <-chan time.Time // gets the beginning of a read of features; nil if none runs
	readCtx, stopReading := context.WithCancel(ctx)
	defer func() {
		stopReading()
		if reading != nil {
			<-reading
		}
	}()
	for {
		listsChanged, wait := c.listsChanged, (<-chan time.Time)(nil)
		if reading != nil {
			listsChanged = nil
		} else if rest := c.restBeforeRead(&pace); rest > 0 {
			listsChanged, wait = nil, time.After(rest)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wait:
		case <-c.listsAwaited:
		case err := <-c.lost:
			if client.Ping(ctx, mcpclient.WithTimeout(pingTimeout)) != nil {
				return err
			}
			c.resetLogLevel() // the client has opened a new session
			c.setReady(client)
			c.requestRefresh()
		case <-c.statusChanged:
			c.onStateChange()
		case <-c.logLevelChanged:
			c.relayLogLevel(ctx, client)
		case began := <-reading:
			if reading = nil; !began.IsZero() {
				pace.read(began)
			}
		case <-listsChanged:
			if c.readFeatures != nil {
				reading = c.beginFeatureRead(readCtx, client)
				continue
			}
			began := time.Now()
			if err := c.refresh(ctx, client); err != nil {
				return err
			}
			pace.read(began)
		case <-unused.C:
			rest := c.idleIfUnused()
			if rest <= 0 {
				return nil
			}
			unused.Reset(rest)
		}
	}
}

// restBeforeRead returns how long to wait before the next read of the lists. If that is too long for
// the requests that wait for it, they go on at once.
func (c *connection) restBeforeRead(pace *refreshPace) time.Duration {
	awaited := c.isRefreshAwaited()
	rest := pace.rest(awaited)
	if awaited && rest > refreshWait {
		c.notifyRefreshed()
	}
	return rest
}

// isRefreshAwaited reports whether a request waits for a read of the lists.
func (c *connection) isRefreshAwaited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.refreshDeadline)
}

// awaitRefreshLocked notes that a request waits for a read of the lists, and returns until when.
// The caller holds mu.
func (c *connection) awaitRefreshLocked() (deadline time.Time) {
	if c.refreshDeadline.IsZero() {
		c.refreshDeadline = time.Now().Add(refreshWait)
	}
	signal(c.listsAwaited)
	return c.refreshDeadline
}

// readInitialLists reads the lists before the connection is ready.
func (c *connection) readInitialLists(ctx context.Context, client *mcpclient.Client) error {
	if c.readLists == nil {
		return nil
	}
	return c.refresh(ctx, client)
}

// refresh reads the lists.
func (c *connection) refresh(ctx context.Context, client *mcpclient.Client) (err error) {
	defer c.notifyRefreshed()
	if c.readLists == nil {
		return nil
	}
	began := c.sessionsLost.Load()
	if err = c.readLists(ctx, client); err == nil {
		c.listedAt = began
	}
	return err
}

// readsInitialLists reports, while readLists runs, whether the lists are the first ones since the
// server has started, or has lost the session.
func (c *connection) readsInitialLists() bool { return c.listedAt != c.sessionsLost.Load() }

// beginFeatureRead reads the features of the connection's caller, while serve sees whether the
// connection is lost. The channel gets when the read began, after it has ended.
func (c *connection) beginFeatureRead(ctx context.Context, client *mcpclient.Client) <-chan time.Time {
	ended := make(chan time.Time, 1)
	go func() {
		began := c.readFeatures(ctx, client)
		c.notifyRefreshed()
		ended <- began
	}()
	return ended
}

// notifyRefreshed wakes all who wait for a read of the lists.
func (c *connection) notifyRefreshed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.refreshed)
	c.refreshed, c.refreshDeadline = make(chan struct{}), time.Time{}
	c.unread = len(c.listsChanged) > 0
}

// recordEnd sets the state after a connection has ended or could not be made.
func (c *connection) recordEnd(err error, lasted time.Duration) {
	switch {
	case err == nil:
		c.setState(host.Idle, "", time.Time{})
	case errors.Is(err, host.ErrNeedsApproval):
		c.setState(host.NeedsApproval, err.Error(), time.Time{})
	case errors.Is(err, mcpauth.ErrSignInRequired):
		c.setState(host.NeedsSignIn, err.Error(), time.Time{})
	default:
		state := host.Failed
		pause, suspended := c.backoff.add(time.Now(), lasted)
		if suspended {
			state = host.Suspended
		}
		c.setState(state, err.Error(), time.Now().Add(pause))
	}
}

func (c *connection) closeClient(client *mcpclient.Client) {
	if err := client.Close(); err != nil {
		c.log.Warn("cannot close the connection to the upstream", "error", err)
	}
	select {
	case <-c.lost: // of the client that was just closed
	default:
	}
}

// onEvent receives the events of the client.
func (c *connection) onEvent(_ context.Context, e mcpclient.Event) {
	if e.Kind == mcpclient.EventLost {
		c.sessionsLost.Add(1)
		c.reportLoss(e.Err)
	}
}

// reportLoss makes run check whether the server still answers.
func (c *connection) reportLoss(err error) {
	select {
	case c.lost <- err:
	default:
	}
}

// requestRefresh makes run read the lists again.
func (c *connection) requestRefresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requestRefreshLocked()
}

// requestRefreshLocked is requestRefresh for callers that hold mu.
func (c *connection) requestRefreshLocked() {
	c.unread = true
	signal(c.listsChanged)
}

// restart makes run reconnect at once after a failure, and wake makes it connect when idle.
func (c *connection) restart() { signal(c.restartSignal) }
func (c *connection) wake()    { signal(c.wakeSignal) }

// reportStatus makes run call onStateChange, which the shared connection has, for a status
// that has changed although the state of the connection has not.
func (c *connection) reportStatus() { signal(c.statusChanged) }

// signal sends a token unless one is pending.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
