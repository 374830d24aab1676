// Package link has the connections of the host to one upstream: a shared one, over which its
// features are listed, and those of single callers.
//
//	Pool ──▶ Conn, the state machine of one connection ──▶ mcpclient.Client
//	 │         ├── state      idle, starting, ready, failed; the client while it is ready
//	 │         ├── uses       the leases and calls that keep it from becoming idle
//	 │         ├── calls      those in which the upstream may ask
//	 │         ├── refreshes  reads of its lists, and who waits for them
//	 │         └── logLevels
//	 └─────▶ Lease, the use of a ready connection, mostly for one Call
//
// The package knows neither what the lists contain nor what a call is about.
package link

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// MaxRetryWait is the longest pause before the next attempt for which a call waits;
	// if the pause is longer the call fails at once.
	MaxRetryWait = 3 * time.Second
	// refreshWait is how long a request waits for a read of the lists.
	refreshWait = 5 * time.Second
	// pingTimeout is how long a server has to answer a ping when its connection seems
	// lost.
	pingTimeout = 5 * time.Second
	// MaxReason limits the reason of a state, in bytes: an error may have text of the server.
	MaxReason = 4 << 10
)

// Conn is one connection to an upstream that is made again when it is lost:
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
// refused calls again; Run then pings the server, and the connection stays or becomes
// ready. Whether calls succeed is not a state of a connection.
//
// A start that needs approval or a sign-in is not repeated until Restart is called.
// The goroutine of Run makes all transitions, except that a lease may withdraw a lost client. Other
// goroutines take a lease and wait for the state ready. All methods but Run are safe for concurrent use.
type Conn struct {
	Params
	backoff   backoff
	state     state
	uses      uses
	calls     calls
	refreshes refreshes
	logLevels logLevels

	sessionsLost atomic.Int64 // how often the client has lost a session
	// listedAt is sessionsLost when the last read of the lists began, or -1 before the first read
	// since the server was connected to. Only the goroutine of Run uses it.
	listedAt int64

	wakeSignal    chan struct{} // one token: a lease waits for an idle connection
	restartSignal chan struct{} // one token: connect now, whatever has failed before
	lost          chan error    // why the client's connection seems to have ended
	statusChanged chan struct{} // one token: the status has changed, but not the state

	// Lifetime.
	ctx    context.Context
	cancel context.CancelFunc // ends Run
	ended  context.Context    // done when Run has returned, with its process
	end    context.CancelFunc
}

// Kind says who uses a connection.
type Kind int

const (
	// Shared connections are retried without being used.
	Shared Kind = iota
	// Own connections are of one caller, and keep its state. They are closed when nobody uses them.
	Own
	// Extra connections of a caller are for concurrent calls. They keep no state.
	Extra
)

// Params are the parameters of a Conn.
type Params struct {
	Kind Kind
	// Session is that of the caller, or nil if the connection is shared or the caller has none.
	Session *mcpserver.Session
	// Owner is the owner to which a caller's connection counts.
	Owner mcpserver.Owner
	// Connect returns a client, which must pass its events to OnEvent.
	Connect func(context.Context, *Conn) (*mcpclient.Client, error)
	// ConnectWait is how long a call waits while the connection is being made.
	ConnectWait time.Duration
	// ReadLists runs before a connection is ready and whenever the lists may have
	// changed. It may be nil.
	ReadLists func(context.Context, *mcpclient.Client) error
	// ReadFeatures runs instead whenever the lists may have changed, and not before the
	// connection is ready. It may wait for its turn, and returns when the read began, or zero if it
	// did not. It may be nil.
	ReadFeatures func(context.Context, *mcpclient.Client, *Conn) (began time.Time)
	// OnLost is called after the client was closed, or could not be made. It may be nil.
	OnLost func(*Conn)
	// Lazy connections are not made before the first lease.
	Lazy bool
	// IdleTimeout is how long a connection may be unused. Zero means no limit.
	IdleTimeout time.Duration
	// OnStateChange is called by the goroutine of Run after each change of state. It may be nil.
	OnStateChange func()
	Log           *slog.Logger
}

// New returns a connection that Run makes, until ctx ends.
func New(ctx context.Context, p Params) *Conn {
	c := &Conn{
		Params:     p,
		state:      newState(p.Lazy),
		calls:      newCalls(),
		refreshes:  newRefreshes(),
		logLevels:  newLogLevels(),
		wakeSignal: make(chan struct{}, 1), restartSignal: make(chan struct{}, 1),
		lost: make(chan error, 1), statusChanged: make(chan struct{}, 1),
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.ended, c.end = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// Run connects and reconnects until its context ends, the connection is closed, or one that is not
// shared is unused. It must be called once.
func (c *Conn) Run() {
	defer c.end()
	c.run(c.ctx)
}

// AfterEnd calls a function in its own goroutine when Run has returned, and the process has ended.
func (c *Conn) AfterEnd(f func()) { context.AfterFunc(c.ended, f) }

func (c *Conn) run(ctx context.Context) {
	defer c.cancel()
	defer c.state.close()
	for c.waitToStart(ctx) {
		c.setState(host.Starting, "", time.Time{})
		client, err := c.Connect(ctx, c)
		began := time.Now()
		if err == nil {
			err = c.serve(ctx, client)
		}
		c.recordEnd(err, time.Since(began))
		if client != nil {
			c.CloseClient(client)
		}
		if c.OnLost != nil {
			c.OnLost(c)
		}
	}
}

// waitToStart waits until it is time to connect. It reports false when the connection is
// to be closed.
func (c *Conn) waitToStart(ctx context.Context) bool {
	for {
		state, due := c.state.nextStart(c.Kind)
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
			if state == host.Idle && c.uses.isLeased() { // otherwise the token is stale
				return true
			}
		case <-timer:
			if state == host.Idle {
				return false
			}
			if c.Kind == Shared || c.uses.isLeased() {
				return true
			}
			c.setState(host.Idle, "", time.Time{})
		}
	}
}

// serve makes the client available to leases until the connection is lost, which is an error, or
// unused, which is no error.
func (c *Conn) serve(ctx context.Context, client *mcpclient.Client) error {
	c.listedAt = -1
	if err := c.readInitialLists(ctx, client); err != nil {
		return err
	}
	c.setReady(client)
	unused := time.NewTimer(c.IdleTimeout)
	defer unused.Stop()
	if c.IdleTimeout == 0 {
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
		listsChanged, wait := c.refreshes.changed, (<-chan time.Time)(nil)
		if reading != nil {
			listsChanged = nil
		} else if rest := c.refreshes.restBeforeRead(&pace); rest > 0 {
			listsChanged, wait = nil, time.After(rest)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wait:
		case <-c.refreshes.awaited:
		case err := <-c.lost:
			if client.Ping(ctx, mcpclient.WithTimeout(pingTimeout)) != nil {
				return err
			}
			c.setReady(client) // which may have opened a new session
			c.refreshes.request()
		case <-c.statusChanged:
			c.OnStateChange()
		case <-c.logLevels.changed:
			if err := c.logLevels.relay(ctx, client); err != nil {
				c.Log.Info("logging: cannot set the level of the upstream", "error", err)
			}
		case began := <-reading:
			if reading = nil; !began.IsZero() {
				pace.read(began)
			}
		case <-listsChanged:
			if c.ReadFeatures != nil {
				reading = c.beginFeatureRead(readCtx, client)
				continue
			}
			began := time.Now()
			if err := c.refresh(ctx, client); err != nil {
				return err
			}
			pace.read(began)
		case <-unused.C:
			rest := c.state.idleIfUnused(&c.uses, c.IdleTimeout)
			if rest <= 0 {
				return nil
			}
			unused.Reset(rest)
		}
	}
}

// readInitialLists reads the lists before the connection is ready.
func (c *Conn) readInitialLists(ctx context.Context, client *mcpclient.Client) error {
	if c.ReadLists == nil {
		return nil
	}
	return c.refresh(ctx, client)
}

// refresh reads the lists.
func (c *Conn) refresh(ctx context.Context, client *mcpclient.Client) (err error) {
	defer c.refreshes.ended()
	if c.ReadLists == nil {
		return nil
	}
	began := c.sessionsLost.Load()
	if err = c.ReadLists(ctx, client); err == nil {
		c.listedAt = began
	}
	return err
}

// ReadsInitialLists reports, while ReadLists runs, whether the lists are the first ones since the
// server has started, or has lost the session.
func (c *Conn) ReadsInitialLists() bool { return c.listedAt != c.sessionsLost.Load() }

// beginFeatureRead reads the features of the connection's caller, while serve sees whether the
// connection is lost. The channel gets when the read began, after it has ended.
func (c *Conn) beginFeatureRead(ctx context.Context, client *mcpclient.Client) <-chan time.Time {
	ended := make(chan time.Time, 1)
	go func() {
		began := c.ReadFeatures(ctx, client, c)
		c.refreshes.ended()
		ended <- began
	}()
	return ended
}

// setReady makes the client, which may have a new session, available to leases.
func (c *Conn) setReady(client *mcpclient.Client) {
	c.logLevels.reset(client)
	c.uses.touch()
	c.calls.reset()
	select {
	case <-c.restartSignal: // the requested start has happened
	default:
	}
	c.state.setReady(client)
	c.notifyState()
}

// setState changes the state to one in which there is no client.
func (c *Conn) setState(state host.State, reason string, retry time.Time) {
	c.state.set(state, reason, retry)
	c.notifyState()
}

func (c *Conn) notifyState() {
	if c.OnStateChange != nil {
		c.OnStateChange()
	}
}

// recordEnd sets the state after a connection has ended or could not be made.
func (c *Conn) recordEnd(err error, lasted time.Duration) {
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

// CloseClient closes a client of the connection.
func (c *Conn) CloseClient(client *mcpclient.Client) {
	if err := client.Close(); err != nil {
		c.Log.Warn("cannot close the connection to the upstream", "error", err)
	}
	select {
	case <-c.lost: // of the client that was just closed
	default:
	}
}

// OnEvent receives the events of the client.
func (c *Conn) OnEvent(_ context.Context, e mcpclient.Event) {
	if e.Kind == mcpclient.EventLost {
		c.sessionsLost.Add(1)
		c.reportLoss(e.Err)
	}
}

// reportLoss makes Run check whether the server still answers.
func (c *Conn) reportLoss(err error) {
	select {
	case c.lost <- err:
	default:
	}
}

// State returns the state, and a channel that is closed when it changes.
func (c *Conn) State() (host.State, <-chan struct{}) { return c.state.current() }

// FillStatus sets the fields of a status that describe the connection.
func (c *Conn) FillStatus(s *host.Status) { c.state.fillStatus(s) }

// Client returns the client if the connection is ready, or nil.
func (c *Conn) Client() *mcpclient.Client {
	client, _, _ := c.state.tryClient()
	return client
}

// Restart makes Run reconnect at once after a failure.
func (c *Conn) Restart() { signal(c.restartSignal) }

// ReportStatus makes Run call OnStateChange for a status that has changed although the state of the
// connection has not.
func (c *Conn) ReportStatus() { signal(c.statusChanged) }

// SetSessionLevel sets the level of log messages that the session of the caller wants outside of calls.
func (c *Conn) SetSessionLevel(level mcp.LoggingLevel) { c.logLevels.setSession(level) }

// Close closes the connection, whether it is in use or not.
func (c *Conn) Close() {
	c.state.refuse(nil)
	c.cancel()
}

// IsClosed reports whether no lease gets the connection any more.
func (c *Conn) IsClosed() bool { return c.state.isClosed() }

// evict closes the connection of a caller to make room for one of another owner.
func (c *Conn) evict() {
	c.state.refuse(errEvicted)
	c.cancel()
}

// isStateless reports whether a server speaks the revision without sessions.
func isStateless(r mcp.Revision) bool { return r == mcp.V20260728 }

// signal sends a token unless one is pending.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
