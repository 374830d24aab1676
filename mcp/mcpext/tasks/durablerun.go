package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/backoff"
	"github.com/fondaco/fondaco/mcp/internal/durable"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// durableRun is what the run of a durable task has besides. It exists between enterRun and
// leaveRun, which end calls. A nil durableRun is that of another
// task.
type durableRun struct {
	tasks *Tasks
	term  *durable.Term // of this process
	key   durable.Work  // Running, in that Term
	ended chan struct{} // closed when the run has ended
	place chan place    // capacity 1; holds the place, unless a goroutine changes it
}

// place is that of a run among Tasks.places. Only tasks that were taken over have one.
type place struct {
	held  bool
	taken bool // the task was taken over
	owner string
	asks  int // questions that wait for an answer: meanwhile the place is not held
}

func newDurableRun(t *Tasks, term *durable.Term, id string) *durableRun {
	d := &durableRun{tasks: t, term: term, key: t.queue.Running(term.Token, id), ended: make(chan struct{}), place: make(chan place, 1)}
	d.place <- place{}
	return d
}

// keepPlace gives the run the place that its caller has.
func (d *durableRun) keepPlace(owner string) {
	<-d.place
	d.place <- place{held: true, taken: true, owner: owner}
}

// releasePlace gives the place back while a question waits for its answer, until regainPlace.
func (d *durableRun) releasePlace() {
	if d == nil {
		return
	}
	p := <-d.place
	if p.held {
		d.tasks.places.leave(p.owner)
	}
	p.held = false
	p.asks++
	d.place <- p
}

// regainPlace waits for a place when no question waits any more. A run whose ctx ends needs none.
func (d *durableRun) regainPlace(ctx context.Context) {
	if d == nil {
		return
	}
	p := <-d.place
	if p.asks--; p.taken && p.asks == 0 {
		p.held = d.tasks.places.take(ctx, p.owner) == nil
	}
	d.place <- p
}

// Causes for which the run of a durable task ends although the task goes on.
var (
	errTakenOver = errors.New("another replica runs the task")
	// errMemory ends no run: the step fails.
	errMemory = errors.New("the memory of the task is full")
)

// end ends the use of the Term.
func (d *durableRun) end() {
	if d == nil {
		return
	}
	if p := <-d.place; p.held {
		d.tasks.places.leave(p.owner)
	}
	d.place <- place{}
	d.tasks.leaveRun(d.key.ID)
	d.term.Leave()
	close(d.ended)
}

// checkTerm fails if the Term has ended. Before the entry of a new task is written, another process
// that finds its key takes the task for one that has ended, and deletes the key and the call.
func (d *durableRun) checkTerm() error {
	if d != nil && !d.term.Held() {
		return fmt.Errorf("task: %w", durable.ErrLost)
	}
	return nil
}

// abandon deletes the keys of a task whose id was not sent to the client.
func (d *durableRun) abandon(ctx context.Context) {
	if d == nil {
		return
	}
	d.tasks.clean(context.WithoutCancel(ctx), d.key)
	d.end()
}

// stopWithTerm ends the work on a durable task when this process has lost its lease.
func (x *run) stopWithTerm() {
	if x.durable == nil {
		return
	}
	term, done := x.durable.term.Context(), x.done
	stop := context.AfterFunc(term, func() { x.cancel(durable.ErrLost) })
	x.done = func() {
		stop()
		done()
	}
}

// mayRunStep returns an error if another replica may run the task now.
func (x *run) mayRunStep() error {
	if x.working.Err() != nil {
		return context.Cause(x.working)
	}
	if !x.durable.term.Held() {
		x.cancel(durable.ErrLost)
		return durable.ErrLost
	}
	return nil
}

// record stores the memory of the handler after a step. It tries for as long as no other replica
// may run the task, because the step would otherwise be repeated.
func (x *run) record(_ context.Context, memory func() []byte) error {
	return x.persist(func(ctx context.Context) error {
		_, err := x.tasks.entries.replace(ctx, x.id, func(e *entry) error {
			if err := x.mayChange(e); err != nil {
				return err
			}
			m := memory() // as it is after each concurrent change
			if most := x.tasks.o.Durable.maxMemory(); len(m) > most {
				return fmt.Errorf("%w: %d bytes, the limit is %d; return less from Once, or raise DurableOptions.MaxMemory", errMemory, len(m), most)
			}
			e.Durable.Memory = m
			return nil
		})
		return err
	})
}

// persist calls write until it succeeds, or fails for a reason that lasts, or another replica may
// run the task.
func (x *run) persist(write func(ctx context.Context) error) error {
	err := x.durable.persist(x.working, write)
	if errors.Is(err, durable.ErrLost) {
		x.cancel(durable.ErrLost)
	}
	return err
}

// persist calls write until it succeeds, or fails for a reason that lasts, or another replica may
// run the task: then it fails with durable.ErrLost. A write that has failed may have been written.
func (d *durableRun) persist(ctx context.Context, write func(ctx context.Context) error) error {
	for {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
		err := write(ctx)
		cancel()
		if err == nil || lasts(err) {
			return err
		}
		if !d.term.Held() {
			return errors.Join(durable.ErrLost, err)
		}
		_ = pause(d.term.Context(), persistPause, nil)
	}
}

// persistPause is the time between two tries to write to the Store.
const persistPause = 250 * time.Millisecond

// lasts reports whether a write fails again when it is repeated.
func lasts(err error) bool {
	for _, known := range []error{errEnded, errTakenOver, errUnknown, errUnreadable, errNoRoom, errMemory, errTooLarge, errStale, errWritten} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// finishDurable writes what the handler has returned, or arranges the next attempt. A handler
// that was interrupted has no outcome.
func (x *run) finishDurable(result mcp.Result, err error) {
	interrupted := x.working.Err() != nil && (err != nil || isFailure(result))
	cause := context.Cause(x.working)
	_, again := retryable(err)
	switch {
	case interrupted && (errors.Is(cause, durable.ErrLost) || errors.Is(cause, errTakenOver)):
		x.log(slog.LevelWarn, "task left to another replica", slog.Any("reason", cause))
	case interrupted && errors.Is(cause, mcpserver.ErrShutdown):
		x.release()
	case again && !interrupted:
		x.tryAgain(err, false)
	default:
		x.storeDurably(result, err)
	}
}

func isFailure(result mcp.Result) bool {
	r, ok := result.(*mcp.CallToolResult)
	return ok && r.IsError
}

// retryable reports whether an error of the handler is that of an attempt and not of the task,
// and the time that the error asks to wait.
func retryable(err error) (wait time.Duration, again bool) {
	if _, ok := errors.AsType[*usercode.Panic](err); ok {
		return 0, true
	}
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Remote || e.Code != mcp.CodeOverloaded && e.Code != mcp.CodeRateLimited {
		return 0, false
	}
	wait, _ = e.RetryAfter()
	return wait, true
}

// storeDurably writes the outcome of the work into the entry. The Store answers if the lease is
// held for longer than a lease lasts: if the result cannot be written then, the task fails.
func (x *run) storeDurably(result mcp.Result, err error) {
	status, raw, failure := x.judge(result, err)
	last, since := x.unwritten(), time.Now()
	err = x.persist(func(ctx context.Context) error {
		if last != "" {
			x.status(ctx, last)
		}
		err := x.conclude(ctx, status, raw, failure)
		if err != nil && raw != nil && (errors.Is(err, errNoRoom) || errors.Is(err, errTooLarge) || !lasts(err) && time.Since(since) > 2*durable.LeaseTime) {
			return x.concludeWithout(ctx, err)
		}
		return err
	})
	if err == nil || errors.Is(err, errEnded) || errors.Is(err, errUnknown) {
		x.tasks.clean(context.WithoutCancel(x.working), x.durable.key)
	}
}

// release leaves the task to another replica, at a shutdown. The attempt is not counted.
func (x *run) release() {
	x.log(slog.LevelInfo, "task left to another replica", slog.Any("reason", mcpserver.ErrShutdown))
	x.schedule(time.Now(), "", func(d *durableState) { d.Attempt-- })
}

// tryAgain arranges the next attempt after one that has failed with err, or makes the task a dead
// letter. An attempt that was refused is not counted.
func (x *run) tryAgain(err error, refused bool) {
	x.log(slog.LevelWarn, "attempt of a task failed", usercode.Attrs(err)...)
	o, d := x.tasks.o.Durable, x.first.Durable
	if d.Attempt >= o.attempts() && !refused {
		_ = x.persist(func(ctx context.Context) error {
			return x.tasks.makeDeadLetter(ctx, x.id, x.durable.key, err.Error(), func(e *entry) error {
				if d := e.Durable; d != nil && d.Dead != "" && d.Dead == statusText(err.Error()) {
					return errWritten
				}
				return x.mayChange(e)
			})
		})
		return
	}
	failures := d.Attempt
	if refused {
		failures = d.Refused + 1
	}
	wait, _ := retryable(err)
	wait = max(wait, backoff.Random(backoff.Pause(failures, o.backoff(), o.maxBackoff())))
	x.schedule(time.Now().Add(wait), "an attempt has failed; the next one follows", func(d *durableState) {
		d.Refused = 0
		if refused {
			d.Attempt--
			d.Refused = failures
		}
	})
}

// schedule makes the task due at a time, for any replica.
func (x *run) schedule(at time.Time, message string, change func(*durableState)) {
	_ = x.persist(func(ctx context.Context) error {
		return x.tasks.reschedule(ctx, x.id, x.durable.key, at, func(e *entry) error {
			if d := e.Durable; d != nil && !e.Status.Terminal() && d.Holder == "" && d.Dead == "" && d.Due == at.UnixMilli() {
				return errWritten
			}
			if err := x.mayChange(e); err != nil {
				return err
			}
			if message != "" {
				e.Message = message
			}
			change(e.Durable)
			return nil
		})
	})
}

func (x *run) log(level slog.Level, msg string, attrs ...slog.Attr) {
	x.tasks.o.logger().LogAttrs(context.Background(), level, msg,
		append(attrs, slog.String("task", x.id[:6]), slog.String("tool", x.first.Durable.Tool))...)
}
