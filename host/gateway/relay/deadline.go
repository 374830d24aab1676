package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const (
	// silenceUntilPing is how long a call is without a message until its server is pinged, and
	// pingTimeout is how long the server has to answer.
	silenceUntilPing = 30 * time.Second
	pingTimeout      = 30 * time.Second
	// silenceUntilDegraded is how long a call is without a message until the upstream is degraded.
	silenceUntilDegraded = 2 * time.Minute
	// maxWithoutProgress limits a call for which no timeout is configured. maxCallTime, or a timeout that
	// is longer, limits one round of every call, with the time of its questions.
	maxWithoutProgress = 10 * time.Minute
	maxCallTime        = time.Hour
	// questionCheck is the time between two looks at a call while a question is open.
	questionCheck = time.Second
)

// deadline ends a call at an upstream that does not answer. Its clock stands still while a question of
// the upstream is open, because a person may have to answer it. Only the hour, or a timeout that is longer,
// includes that time, within one round.
//
//	30 s without a message ──▶ ping ── no answer in 30 s ──▶ the call ends: it may have run
//	                            └───── an answer ──────────▶ the call goes on
//	2 min without a message ──▶ the upstream is degraded, until a message or the end of the call
//	10 min without progress, 1 h, or else the configured timeout ──▶ the call ends: it may have run
//
// Any response counts as an answer to a ping, also an error. The zero value is a deadline that has not
// started.
type deadline struct {
	lease   link.Lease
	health  *health
	ctx     context.Context         // of the call at the upstream
	end     context.CancelCauseFunc // ends ctx
	timeout time.Duration           // of the configuration; zero: none
	// toleratesPing says that an unanswered ping does not end the call.
	toleratesPing bool

	began time.Time
	asked time.Duration // Lease.QuestionTime when the clock began
	// message and progress are the time of the last one, in nanoseconds of the clock.
	message, progress atomic.Int64

	mu      sync.Mutex    // guards the fields below
	timer   *time.Timer   // runs check
	running *runningCheck // or nil
	stopped bool

	// Only check uses these, and stop after it has ended.
	pinged     time.Duration // time of the last ping
	unanswered bool          // it got no answer
	silent     silentCall    // what health knows of the call
}

// runningCheck is a run of check.
type runningCheck struct {
	ctx    context.Context // of pings
	cancel context.CancelFunc
	ended  chan struct{}
}

// deadlineError is the cause of the end of a call that took too long. Callers see its text.
type deadlineError struct {
	text string
	lost bool // the connection seems to be lost
}

func (e *deadlineError) Error() string { return e.text }
func (e *deadlineError) Unwrap() error { return context.DeadlineExceeded }

// start starts the clock of the deadline. spent is what it has shown at the end of the round before.
func (d *deadline) start(l link.Lease, spent time.Duration) {
	d.lease = l
	d.asked, _ = l.QuestionTime()
	d.began = time.Now().Add(-spent)
	d.message.Store(int64(spent))
	d.progress.Store(int64(spent))
	d.pinged = spent
	first := silenceUntilPing
	if d.timeout > 0 {
		first = min(first, d.timeout-spent)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(first, d.check)
}

// clock returns the running time of the call, without the time in which questions were open.
func (d *deadline) clock() time.Duration {
	asked, _ := d.lease.QuestionTime()
	return time.Since(d.began) - (asked - d.asked)
}

// heard notes a message of the upstream in the call.
func (d *deadline) heard() { d.message.Store(int64(d.clock())) }

// progressed notes progress of the call.
func (d *deadline) progressed() {
	now := int64(d.clock())
	d.message.Store(now)
	d.progress.Store(now)
}

// stop stops the deadline, and returns the error of the call that ended with err.
func (d *deadline) stop(err error) error {
	d.mu.Lock()
	d.stopped = true
	d.timer.Stop()
	running := d.running
	d.mu.Unlock()
	if running != nil {
		running.cancel()
		<-running.ended
	}
	d.setSilent(notSilent)
	late, ok := errors.AsType[*deadlineError](context.Cause(d.ctx))
	switch {
	case err == nil || !ok:
		return err
	case late.lost:
		return &mcpclient.LostError{Err: &mcpclient.MayHaveRunError{Err: late}}
	}
	return &mcpclient.MayHaveRunError{Err: late}
}

// check is called by the timer. It does what is due, and sets the timer for what comes next.
func (d *deadline) check() {
	d.mu.Lock()
	if d.stopped {
		d.mu.Unlock()
		return
	}
	running := &runningCheck{ended: make(chan struct{})}
	running.ctx, running.cancel = context.WithCancel(d.ctx)
	d.running = running
	d.mu.Unlock()

	wait := d.next(running.ctx)

	d.mu.Lock()
	defer d.mu.Unlock()
	running.cancel()
	close(running.ended)
	d.running = nil
	if !d.stopped && wait > 0 {
		d.timer.Reset(wait)
	}
}

// next does what is due, and returns how long to wait for what comes next, or zero if the call has ended.
func (d *deadline) next(ctx context.Context) (wait time.Duration) {
	for {
		now := d.clock()
		left, late := d.left(now)
		if left <= 0 {
			d.end(late)
			return 0
		}
		silence := d.silence(now)
		untilDegraded := silenceUntilDegraded - silence
		switch {
		case untilDegraded > 0:
			d.setSilent(notSilent)
		case d.unanswered:
			d.setSilent(silentUnanswered)
		default:
			d.setSilent(silentAnswered)
		}
		untilPing := silenceUntilPing - min(silence, now-d.pinged)
		if untilPing <= 0 {
			lost := d.ping(ctx, left)
			switch {
			case ctx.Err() != nil:
				return 0
			case lost != nil:
				d.end(lost)
				return 0
			}
			continue
		}
		wait = min(left, untilPing)
		if untilDegraded > 0 {
			wait = min(wait, untilDegraded)
		}
		if _, asks := d.lease.QuestionTime(); asks {
			wait = max(wait, questionCheck)
		}
		return wait
	}
}

// left returns the time until the call ends, and why it ends then.
func (d *deadline) left(now time.Duration) (time.Duration, error) {
	if d.timeout > 0 {
		if whole := max(maxCallTime, d.timeout) - time.Since(d.began); whole < d.timeout-now {
			return whole, &deadlineError{text: fmt.Sprintf("no result within %v", max(maxCallTime, d.timeout))}
		}
		return d.timeout - now, &deadlineError{text: fmt.Sprintf("no result within %v, its timeout", d.timeout)}
	}
	left, reason := maxWithoutProgress-(now-time.Duration(d.progress.Load())), fmt.Sprintf("no progress for %v", maxWithoutProgress)
	if whole := maxCallTime - time.Since(d.began); whole < left {
		left, reason = whole, fmt.Sprintf("no result within %v", maxCallTime)
	}
	return left, &deadlineError{text: reason}
}

// silence returns for how long no message has come.
func (d *deadline) silence(now time.Duration) time.Duration {
	return min(now-time.Duration(d.message.Load()), time.Since(d.lease.LastHeard()))
}

// ping pings the server. It returns an error if the call has to end because there is no answer, neither
// to the ping nor in the call.
func (d *deadline) ping(ctx context.Context, left time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, min(left, pingTimeout))
	defer cancel()
	began := time.Now()
	err := d.lease.Client.Ping(ctx, mcpclient.WithTimeout(-1))
	d.pinged = d.clock()
	d.unanswered = !isAnswer(err) && d.silence(d.pinged) >= time.Since(began)
	if !d.unanswered || d.toleratesPing || left < pingTimeout {
		return nil
	}
	return &deadlineError{text: fmt.Sprintf("no message for %v, and no answer to a ping", silenceUntilPing), lost: true}
}

// isAnswer reports whether the error of a ping says that the server is there. A gateway that does not
// reach the server is no answer.
func isAnswer(err error) bool {
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Remote {
		return true
	}
	if e, ok := errors.AsType[*mcpclient.HTTPError](err); ok {
		return e.Status < 500 || e.NotBegun()
	}
	_, invalid := errors.AsType[*mcpclient.ProtocolError](err)
	return err == nil || invalid
}

// setSilent changes what health knows of the call.
func (d *deadline) setSilent(s silentCall) {
	if d.silent != s {
		d.health.recordSilent(d.silent, s)
		d.silent = s
	}
}
