// Package link has the connections of the host to one upstream: a shared one, over which its
// features are listed, and those of single callers.
//
//	Pool ──▶ Conn, the state machine of one connection ──▶ mcpclient.Client
//	 │         ├── state      idle, starting, ready, failed; the client while it is ready
//	 │         ├── uses       the leases and calls that keep it from becoming idle
//	 │         ├── calls      those in which the upstream may ask
//	 │         ├── refreshes  reads of its lists, and who waits for them
//	 │         ├── logLevels
//	 │         └── activity   questions and log messages, which do not name their call
//	 └─────▶ Lease, the use of a ready connection, mostly for one Call
//
// The package knows neither what the lists contain nor what a call is about.
package link

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
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
	state     state
	uses      uses
	calls     calls
	refreshes refreshes
	logLevels logLevels
	activity  activity

	// rootsUnanswered says that the caller's client has not answered the last question for its roots in
	// time.
	rootsUnanswered atomic.Bool

	failed     atomic.Bool  // see HasFailed
	equalPause atomic.Int64 // between reads of lists that are announced and stay equal, see EqualPause

	sessionsLost  atomic.Int64  // how often the client has lost a session
	wakeSignal    chan struct{} // one token: a lease waits for an idle connection
	restartSignal chan struct{} // one token: connect now, whatever has failed before
	reopening     atomic.Bool   // the last loss was that of a session, which the client opens again
	lost          chan error    // why the client's connection seems to have ended
	statusChanged chan struct{} // one token: the status has changed, but not the state
	readmitSignal chan struct{} // one token: end the connection that is made or being made, and make another one

	closing sync.Mutex
	onClose []func() // guarded by closing: called when the client was closed

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
	// ConnectWait is how long a call waits while the connection is being made, see also
	// WithStartDeadline.
	ConnectWait time.Duration
	// ReadLists runs before a connection is ready and whenever the lists may have
	// changed. It may be nil.
	// started reports whether the lists that were read are the first ones since the server has started,
	// or has lost the session. equal says that the lists are as they were.
	ReadLists func(ctx context.Context, _ *mcpclient.Client, started func() bool) (equal bool, err error)
	// ReadFeatures runs instead whenever the lists may have changed, and not before the
	// connection is ready. It may wait for its turn. It may be nil.
	ReadFeatures func(context.Context, *mcpclient.Client, *Conn) FeatureRead
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

// FeatureRead is the outcome of a read of the features of a connection.
type FeatureRead struct {
	Began time.Time // zero if it did not begin
	Equal bool      // the features are as they were
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
		lost: make(chan error, 1), statusChanged: make(chan struct{}, 1), readmitSignal: make(chan struct{}, 1),
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.ended, c.end = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// Run connects and reconnects until its context ends, the connection is closed, or one that is not
// shared is unused. It must be called once.
func (c *Conn) Run() {
	defer c.end()
	c.run()
}

func (c *Conn) run() {
	l := &loop{Conn: c}
	l.run(c.ctx)
}

// AfterEnd calls a function in its own goroutine when Run has returned, and the process has ended.
func (c *Conn) AfterEnd(f func()) { context.AfterFunc(c.ended, f) }

// OnClose adds a function that is called once when the client was closed that the connection has, or that is
// just connected.
func (c *Conn) OnClose(f func()) {
	c.closing.Lock()
	defer c.closing.Unlock()
	c.onClose = append(c.onClose, f)
}

// CloseClient closes a client of the connection.
func (c *Conn) CloseClient(client *mcpclient.Client) {
	if err := client.Close(); err != nil {
		c.Log.Warn("cannot close the connection to the upstream", "error", err)
	}
	c.closing.Lock()
	closed := c.onClose
	c.onClose = nil
	c.closing.Unlock()
	for _, f := range closed {
		f()
	}
	select {
	case <-c.lost: // of the client that was just closed
	default:
	}
}

// OnEvent receives the events of the client. It reports whether the client has opened a session again that
// was lost.
func (c *Conn) OnEvent(e mcpclient.Event) (reopened bool) {
	switch e.Kind {
	case mcpclient.EventLost:
		c.reopening.Store(errors.Is(e.Err, mcpclient.ErrSessionLost))
		c.sessionsLost.Add(1)
		c.reportLoss(e.Err)
	case mcpclient.EventReinitialised:
		return c.reopening.Load()
	}
	return false
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

// EqualPause returns the pause between reads of lists whose changes the upstream has announced again and
// again, while they stay as they are. It is zero if they have changed.
func (c *Conn) EqualPause() time.Duration { return time.Duration(c.equalPause.Load()) }

// HasFailed reports whether the connection, or the last attempt to make it, has failed, and it has not been
// ready since.
func (c *Conn) HasFailed() bool { return c.failed.Load() }

// Client returns the client if the connection is ready, or nil.
func (c *Conn) Client() *mcpclient.Client {
	client, _, _ := c.state.tryClient()
	return client
}

// Restart makes Run reconnect at once after a failure.
func (c *Conn) Restart() { signal(c.restartSignal) }

// readmit makes Run end the connection and make another one. One that is idle is made, too, if it is shared, so that
// its state is that of the upstream.
func (c *Conn) readmit() {
	c.state.withdraw(nil)
	signal(c.readmitSignal)
	if now, _ := c.State(); now == host.Idle && c.Kind == Shared {
		c.Restart()
	}
}

// AddMissingScopes adds scopes that a call has lacked to the status.
func (c *Conn) AddMissingScopes(scopes []string) {
	if c.state.addMissing(scopes) {
		c.ReportStatus()
	}
}

// ClearMissingScopes removes the scopes that calls have lacked from the status: a sign-in has requested them.
func (c *Conn) ClearMissingScopes() {
	if c.state.clearMissing() {
		c.ReportStatus()
	}
}

// ReportStatus makes Run call OnStateChange for a status that has changed although the state of the
// connection has not. It has an effect while the shared connection is connected, else when it is again:
// other connections have no OnStateChange, and a change of state reports the whole status.
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
