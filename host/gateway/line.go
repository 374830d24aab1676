package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const (
	// patience is how long a call waits for a line that is being made.
	patience = 10 * time.Second
	// soon is how long it waits at most for the next attempt at a failed one.
	soon = 3 * time.Second
	// proof is how long a server has, whose connection seems lost, to answer.
	proof = 5 * time.Second
)

// line is one connection to an upstream, and what becomes of it:
//
//	idle ──used──▶ starting ──▶ ready ──unused──▶ idle
//	                │    ▲         │
//	           failure  pause     loss
//	                ▼    │         │
//	               failed ◀────────┘
//	                │
//	            five in a minute ──▶ parked ──two minutes──▶ starting
//
// A start that needs approval, or a sign-in, comes to a rest until somebody calls
// Retry. All of this is done by run, on one goroutine; the others use the line, and
// wait.
type line struct {
	lineParams
	failures failures

	used    chan struct{} // one token: somebody wants to use it
	again   chan struct{} // one token: start now, whatever has failed before
	changed chan struct{} // one token: the lists may have changed
	lost    chan error    // the connection has ended
	stop    func()        // ends run; nil for the line of the house

	mu       sync.Mutex // guards the fields below
	state    host.State
	reason   string
	retry    time.Time // of failed and parked lines
	client   *mcpclient.Client
	moved    chan struct{} // closed at the next change of state
	users    int
	calls    []*call       // in which the server may ask, the oldest first
	joined   chan struct{} // closed when there is one more
	called   bool          // one has been answered since the line is ready
	lastUsed time.Time
	logged   mcp.LoggingLevel // that the client's server logs at, if one was asked for
	over     bool             // nobody gets it any more
}

type lineParams struct {
	connect func(context.Context, *line) (*mcpclient.Client, error)
	// prepare does what has to be done before a connection is ready, and whenever
	// the lists may have changed. Nil does nothing.
	prepare func(context.Context, *mcpclient.Client) error
	// kept lines are made again without being asked; others are over when nobody
	// has used them for a while.
	kept bool
	// lazy lines are not made before they are used.
	lazy bool
	// idle is how long a line may be unused. Zero is for ever.
	idle time.Duration
	// tell hears of every change of state. It may be nil.
	tell func()
	log  *slog.Logger
}

func newLine(p lineParams) *line {
	l := &line{
		lineParams: p,
		used:       make(chan struct{}, 1), again: make(chan struct{}, 1),
		changed: make(chan struct{}, 1), lost: make(chan error, 1),
		state: host.Starting, moved: make(chan struct{}), joined: make(chan struct{}),
	}
	if p.lazy {
		l.state = host.Idle
	}
	return l
}

// errOver is the error of a line that is over. There may be another.
var errOver = errors.New("the connection is over")

// run makes the connection, again and again, until ctx is done or a line that is
// not kept is over.
func (l *line) run(ctx context.Context) {
	defer l.finish()
	for l.rest(ctx) {
		l.become(host.Starting, "", time.Time{})
		client, err := l.connect(ctx, l)
		began := time.Now()
		if err == nil {
			err = l.serve(ctx, client)
		}
		l.settle(err, time.Since(began))
		if client != nil {
			l.close(client)
		}
	}
}

// rest waits until the line is to be made. It reports false when it is over.
func (l *line) rest(ctx context.Context) bool {
	for {
		state, due := l.due()
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
		case <-l.again:
			l.failures = failures{}
			return true
		case <-l.used:
			if state == host.Idle && l.inUse() { // else the token was left behind
				return true
			}
		case <-timer:
			if state == host.Idle {
				return false
			}
			if l.kept || l.inUse() {
				return true
			}
			l.become(host.Idle, "", time.Time{})
		}
	}
}

// due returns the state, and when something is to be done about it.
func (l *line) due() (host.State, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == host.Idle && !l.kept {
		return l.state, time.Now().Add(window) // its failures are not forgotten before
	}
	return l.state, l.retry
}

// serve lets the connection be used until it is lost, which is an error, or is
// not needed any more.
func (l *line) serve(ctx context.Context, client *mcpclient.Client) error {
	if err := l.refresh(ctx, client); err != nil {
		return err
	}
	l.forgetLog()
	l.ready(client)
	unused := time.NewTimer(l.idle)
	defer unused.Stop()
	if l.idle == 0 {
		unused.Stop()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-l.lost:
			if client.Ping(ctx, mcpclient.WithTimeout(proof)) != nil {
				return fmt.Errorf("connection lost: %w", err)
			}
			l.forgetLog() // a session was forgotten, and has been made anew
			l.ready(client)
			l.touch()
		case <-l.changed:
			if err := l.refresh(ctx, client); err != nil {
				return err
			}
		case <-unused.C:
			rest := l.retire()
			if rest <= 0 {
				return nil
			}
			unused.Reset(rest)
		}
	}
}

func (l *line) refresh(ctx context.Context, client *mcpclient.Client) error {
	if l.prepare == nil {
		return nil
	}
	return l.prepare(ctx, client)
}

// settle notes how a connection has ended, or was not made.
func (l *line) settle(err error, lasted time.Duration) {
	switch {
	case err == nil:
		l.become(host.Idle, "", time.Time{})
	case errors.Is(err, host.ErrNeedsApproval):
		l.become(host.NeedsApproval, err.Error(), time.Time{})
	case errors.Is(err, mcpauth.ErrSignInRequired):
		l.become(host.NeedsSignIn, err.Error(), time.Time{})
	default:
		state := host.Failed
		pause, parked := l.failures.add(time.Now(), lasted)
		if parked {
			state = host.Parked
		}
		l.become(state, err.Error(), time.Now().Add(pause))
	}
}

func (l *line) close(client *mcpclient.Client) {
	if err := client.Close(); err != nil {
		l.log.Warn("upstream does not end", "error", err)
	}
	select {
	case <-l.lost: // of the connection that was closed
	default:
	}
}

// heard follows the connection.
func (l *line) heard(_ context.Context, e mcpclient.Event) {
	if e.Kind == mcpclient.EventLost {
		l.doubt(e.Err)
	}
}

// doubt has run see whether the server still answers.
func (l *line) doubt(err error) {
	select {
	case l.lost <- err:
	default:
	}
}

// touch has the lists read again, start has a failed line made at once, and wake
// has an idle one made.
func (l *line) touch() { signal(l.changed) }
func (l *line) start() { signal(l.again) }
func (l *line) wake()  { signal(l.used) }

// signal leaves a token where there is none.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
