package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/durable"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// scanInterval is about the time between two scans for tasks that nobody runs. A scan
	// costs three Lists while there are none.
	scanInterval = 2 * time.Second
	// maxScanned bounds the tasks that one scan finds of each kind.
	maxScanned = 64
	// orphanPause is the time after which Orphan is called again for a task that nobody runs.
	orphanPause = time.Minute
)

// errWritten: an earlier try of the same change has succeeded, although its answer was an error.
var errWritten = errors.New("the change was written before")

// reschedule makes a task due at a time: change permits it. key is the one that the task has had.
func (t *Tasks) reschedule(ctx context.Context, id string, key durable.Work, at time.Time, change func(*entry) error) error {
	_, err := t.move(ctx, key, t.queue.Due(at, id), func(e *entry) error {
		if err := change(e); err != nil {
			return err
		}
		e.Durable.Holder, e.Durable.Due, e.Durable.Dead = "", at.UnixMilli(), ""
		return nil
	})
	if err != nil {
		return err
	}
	if bus := t.srv.Bus(); bus != nil && time.Until(at) <= 0 {
		_ = bus.Publish(ctx, t.queue.Topic(), nil)
	}
	return nil
}

// makeDeadLetter makes a task a dead letter: mayChange permits it. key is the one that the task has
// had.
func (t *Tasks) makeDeadLetter(ctx context.Context, id string, key durable.Work, reason string, mayChange func(*entry) error) error {
	e, err := t.move(ctx, key, t.queue.Dead(id), func(e *entry) error {
		if err := mayChange(e); err != nil {
			return err
		}
		e.Durable.Holder, e.Durable.Due, e.Durable.Dead = "", 0, statusText(reason)
		e.Message = "all attempts have failed; the task waits for the operator of the server"
		return nil
	})
	if err != nil {
		return err
	}
	t.o.logger().LogAttrs(ctx, slog.LevelError, "task is a dead letter", slog.String("task", id[:6]),
		slog.String("tool", e.Durable.Tool), slog.Int("attempts", e.Durable.Attempt), slog.String("reason", reason))
	return nil
}

// move changes the entry of a task so that another key fits it. If change fails with errWritten,
// the entry is as wanted already.
func (t *Tasks) move(ctx context.Context, from, to durable.Work, change func(*entry) error) (*entry, error) {
	e, _, err := t.entries.read(ctx, to.ID)
	if err == nil {
		err = t.queue.Add(ctx, to, e.left())
	}
	if err != nil {
		return nil, err
	}
	e, err = t.entries.change(ctx, to.ID, change)
	switch {
	case errors.Is(err, errWritten):
	case err != nil:
		if lasts(err) {
			t.remove(ctx, to)
		}
		return nil, err
	}
	// Another process that has found the key before the entry was changed may have deleted it.
	if err := t.queue.Add(ctx, to, e.left()); err != nil {
		return nil, err
	}
	t.remove(ctx, from)
	return e, nil
}

// keyOf returns the key that fits the entry of a task that has not ended.
func (t *Tasks) keyOf(e *entry) durable.Work {
	switch d := e.Durable; {
	case d.Dead != "":
		return t.queue.Dead(e.ID)
	case d.Holder != "":
		return t.queue.Running(d.Holder, e.ID)
	default:
		return t.queue.Due(time.UnixMilli(d.Due), e.ID)
	}
}

// remove deletes a key that does not fit its entry. The entry may have changed since it was read,
// and fit the key now: then the key is written again, because a task without a key is lost.
func (t *Tasks) remove(ctx context.Context, key durable.Work) {
	if t.queue.Remove(ctx, key) != nil {
		return
	}
	e, _, err := t.entries.read(ctx, key.ID)
	if err == nil && e.Durable != nil && !e.Status.Terminal() && t.keyOf(e) == key {
		_ = t.queue.Add(ctx, key, e.left())
	}
}

// takeover is a task that this process runs in place of another one.
type takeover struct {
	tasks   *Tasks
	e       *entry
	d       *durableRun
	claimed atomic.Bool   // the call has reached the tool, or never will
	reached chan struct{} // closed when x is set or never will be, if the call has reached the tool
	x       *run
}

type takeoverKey struct{}

// takeoverFrom returns the task that ctx runs again, or nil.
func takeoverFrom(ctx context.Context) *takeover {
	o, _ := ctx.Value(takeoverKey{}).(*takeover)
	return o
}

// run runs the handler for the task: it is the end of a call that was replayed.
func (o *takeover) run(ctx context.Context, p *mcp.CallToolParams, as kind, next mcpserver.ToolHandler) (mcp.Result, error) {
	if !o.claimed.CompareAndSwap(false, true) {
		return nil, errors.New("the call runs a task again, and has done so already, or has ended")
	}
	defer close(o.reached)
	x, err := o.tasks.start(context.WithValue(ctx, takeoverKey{}, nil), o.e, as, o.d)
	if err != nil {
		return nil, err
	}
	o.x = x
	o.tasks.endsIfKept(o.e.ID, x.cancel)
	go func() {
		result, err := contained(x.working, p, next)
		x.finish(result, err)
	}()
	return x.created(), nil
}

// Errors of take.
var (
	// errStale: the key does not fit the entry, and was deleted.
	errStale = errors.New("the task has ended, or its state has changed")
	errRuns  = errors.New("another process, or another call in this one, runs the task")
)

// take makes this process the one that runs a task, which is found under a key. It fails with
// errStale or errRuns if there is nothing to do. The caller has a place for the owner in
// Tasks.places, which the durableRun has from then on.
func (t *Tasks) take(ctx context.Context, key durable.Work, owner string) (*takeover, error) {
	if !t.enterRun(key.ID) {
		return nil, errRuns
	}
	term, err := t.lease.Enter(ctx)
	if err != nil {
		t.leaveRun(key.ID)
		return nil, err
	}
	d := newDurableRun(t, term, key.ID)
	e, err := t.hold(ctx, d, key)
	if err != nil {
		d.end()
		return nil, err
	}
	d.keepPlace(owner)
	t.o.logger().LogAttrs(ctx, slog.LevelInfo, "task taken over", slog.String("task", e.ID[:6]),
		slog.String("tool", e.Durable.Tool), slog.Int("attempt", e.Durable.Attempt))
	return &takeover{tasks: t, e: e, d: d, reached: make(chan struct{})}, nil
}

// enterRun makes the caller the only one in this process that runs a task, until leaveRun. It
// returns false if there is another one.
func (t *Tasks) enterRun(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[id] {
		return false
	}
	t.running[id] = true
	return true
}

func (t *Tasks) leaveRun(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, id)
}

// hold writes that this process runs the task. The caller has called enterRun.
func (t *Tasks) hold(ctx context.Context, d *durableRun, key durable.Work) (*entry, error) {
	e, _, err := t.entries.read(ctx, key.ID)
	if err == nil {
		err = t.isFree(ctx, e, d.term)
	}
	if err != nil {
		return nil, t.removeStale(ctx, key, e, err)
	}
	if err := t.deadLetterIfLastAttempt(ctx, key, e, d.term); err != nil {
		return nil, err
	}
	if err := t.queue.Add(ctx, d.key, e.left()); err != nil {
		return nil, err
	}
	holder := e.Durable.Holder
	// A try that fails may have been written: then no other process runs the task, so this one
	// must find out.
	err = d.persist(ctx, func(ctx context.Context) error {
		e, err = t.entries.change(ctx, key.ID, func(e *entry) error {
			if e.Durable != nil && e.Durable.Holder == d.term.Token {
				return errWritten
			}
			if err := isHeldBy(e, holder); err != nil {
				return err
			}
			if !e.waits() { // else its attempt goes on
				e.Durable.Attempt++
			}
			e.Durable.Holder, e.Durable.Due = d.term.Token, 0
			return nil
		})
		return err
	})
	if err != nil && !errors.Is(err, errWritten) {
		if lasts(err) {
			t.remove(ctx, d.key)
		}
		return nil, err
	}
	if key != d.key {
		_ = t.queue.Remove(ctx, key)
	}
	return e, nil
}

// deadLetterIfLastAttempt makes a task a dead letter if the process of its last attempt has ended. It
// returns errStale then.
func (t *Tasks) deadLetterIfLastAttempt(ctx context.Context, key durable.Work, e *entry, own *durable.Term) error {
	holder, attempt := e.Durable.Holder, e.Durable.Attempt
	if holder == "" || holder == own.Token || e.waits() || attempt < t.o.Durable.attempts() {
		return nil
	}
	reason := fmt.Sprintf("the process that ran attempt %d has ended", attempt)
	err := t.makeDeadLetter(ctx, e.ID, key, reason, func(e *entry) error { return isHeldBy(e, holder) })
	if err == nil {
		err = errStale
	}
	return err
}

// isFree returns an error unless the task has to be run and nobody runs it. The caller has called
// enterRun, so that this process, whose Term is own, does not run it.
func (t *Tasks) isFree(ctx context.Context, e *entry, own *durable.Term) error {
	switch {
	case e.Durable == nil || e.Status.Terminal() || e.Durable.Dead != "":
		return errStale
	case e.Durable.Holder == "", e.Durable.Holder == own.Token:
		return nil
	}
	alive, err := t.queue.Alive(ctx, e.Durable.Holder)
	if err == nil && alive {
		err = errRuns
	}
	return err
}

// isHeldBy returns errStale unless the task has to be run and is held by that token.
func isHeldBy(e *entry, holder string) error {
	if e.Status.Terminal() || e.Durable.Dead != "" || e.Durable.Holder != holder {
		return errStale
	}
	return nil
}

// removeStale deletes a key that does not fit its entry, and returns err, or errStale if there is
// no task.
func (t *Tasks) removeStale(ctx context.Context, key durable.Work, e *entry, err error) error {
	switch {
	case errors.Is(err, errUnknown), errors.Is(err, errStale) && e.Status.Terminal():
		t.clean(ctx, key)
		return errStale
	case errors.Is(err, errStale), errors.Is(err, errRuns) && e.Durable.Holder != key.Token:
		t.remove(ctx, key)
	}
	return err
}

// replay runs the call of a task that this process has taken. It returns when the handler runs. A
// call that does not reach its tool is an attempt that has failed, unless a limit or the Store is the
// reason.
func (o *takeover) replay(ctx context.Context) {
	t := o.tasks
	call, err := t.callOf(ctx, o.e.ID)
	unread := err != nil && !lasts(err)
	if err == nil {
		err = usercode.Run(func() error {
			_, err := t.srv.Replay(context.WithValue(ctx, takeoverKey{}, o), callPrefix+o.e.ID, call, o.e.Durable.Memory)
			return err
		})
	}
	if !o.claimed.CompareAndSwap(false, true) {
		<-o.reached
		if o.x != nil {
			return
		}
	}
	if err == nil {
		err = errors.New("the call did not reach its tool; middleware has answered it")
	}
	x := &run{tasks: t, id: o.e.ID, first: o.e, durable: o.d}
	x.working, x.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if ctx.Err() != nil || errors.Is(err, mcpserver.ErrShutdown) {
		x.release()
	} else {
		x.tryAgain(err, unread || wasRefused(err))
	}
	x.cancel(nil)
	o.d.end()
}

// wasRefused reports whether an error is that of a limit, which middleware or the server sets. The
// handler was not run, so that there was no attempt.
func wasRefused(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && (e.Code == mcp.CodeOverloaded || e.Code == mcp.CodeRateLimited)
}

// endsIfKept sets the function that ends the work on a task, if this process counts the task.
func (t *Tasks) endsIfKept(id string, end context.CancelCauseFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.kept[id]; k != nil {
		k.end = end
	}
}

// worker looks for tasks that nobody runs.
type worker struct {
	tasks    *Tasks
	wake     chan struct{} // capacity 1; holds a token if a task may be due
	replays  sync.WaitGroup
	reported bool // the last scan has failed, which was logged
}

func newWorker(t *Tasks) *worker { return &worker{tasks: t, wake: make(chan struct{}, 1)} }

// run scans until ctx ends. It holds the lease of the process meanwhile, so that tasks begin
// without waiting for it.
func (w *worker) run(ctx context.Context) {
	defer w.replays.Wait()
	defer w.subscribe(ctx)()
	for ctx.Err() == nil {
		w.runTerm(ctx)
	}
}

// subscribe makes news of tasks that are due wake the worker. Without it the next scan finds them.
func (w *worker) subscribe(ctx context.Context) (stop func()) {
	bus := w.tasks.srv.Bus()
	if bus == nil {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	off, err := bus.Subscribe(ctx, w.tasks.queue.Topic(), w.signal)
	if err != nil {
		return func() {}
	}
	return off
}

func (w *worker) signal([]byte) {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// runTerm scans until ctx or the Term ends.
func (w *worker) runTerm(ctx context.Context) {
	term, err := w.tasks.lease.Enter(ctx)
	if err != nil {
		w.report(ctx, err)
		_ = pause(ctx, scanInterval, nil)
		return
	}
	defer term.Leave()
	scanning, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(term.Context(), func() { cancel(context.Cause(term.Context())) })()
	for scanning.Err() == nil {
		w.report(ctx, w.scan(scanning))
		_ = pause(scanning, durable.Spread(scanInterval), w.wake)
	}
	if cause := context.Cause(term.Context()); cause != nil && ctx.Err() == nil {
		w.tasks.o.logger().LogAttrs(ctx, slog.LevelWarn, "lease for durable tasks lost", slog.Any("reason", cause))
	}
}

// report logs the first of several failures, and that they are over.
func (w *worker) report(ctx context.Context, err error) {
	failed := err != nil && ctx.Err() == nil
	if failed == w.reported {
		return
	}
	w.reported = failed
	if failed {
		w.tasks.o.logger().LogAttrs(ctx, slog.LevelError, "durable tasks cannot be looked for", slog.Any("error", err))
		return
	}
	w.tasks.o.logger().LogAttrs(ctx, slog.LevelInfo, "durable tasks are looked for again")
}

// scan takes over tasks of processes that have ended, and tasks whose next attempt is due.
func (w *worker) scan(ctx context.Context) error {
	t := w.tasks
	orphans, err := t.queue.Orphans(ctx, maxScanned)
	if err != nil {
		return err
	}
	due, err := t.queue.NextDue(ctx, maxScanned)
	if err != nil {
		return err
	}
	for _, key := range alternate(orphans, due) {
		more, err := w.takeOver(ctx, key)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// alternate returns the work of both lists, in turn, so that much of one does not delay the other.
func alternate(a, b []durable.Work) (both []durable.Work) {
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			both = append(both, a[i])
		}
		if i < len(b) {
			both = append(both, b[i])
		}
	}
	return both
}

// takeOver takes one task over, or hands it to Orphan. It returns false when there is no place for
// another task.
func (w *worker) takeOver(ctx context.Context, key durable.Work) (more bool, err error) {
	t := w.tasks
	e, _, err := t.entries.read(ctx, key.ID)
	if errors.Is(err, errUnreadable) {
		return true, nil // of a server with other keys, or another version of it
	}
	if err == nil && (e.Durable == nil || !t.srv.HasDurable(e.Durable.Tool)) && !e.Status.Terminal() {
		return true, nil // a task of another version of the server
	}
	if err == nil && t.o.Durable.orZero().Orphan != nil {
		return true, w.handOver(ctx, key, e)
	}
	owner := ""
	if err == nil {
		owner = e.Owner
	}
	if ok, more := t.places.tryTake(owner); !ok {
		return more, nil
	}
	o, err := t.take(ctx, key, owner)
	if err != nil {
		t.places.leave(owner)
		return true, unlessStale(err)
	}
	w.replays.Go(func() { o.replay(ctx) })
	return true, nil
}

// unlessStale returns err, or nil if it only says that there is nothing to do for a task.
func unlessStale(err error) error {
	if errors.Is(err, errStale) || errors.Is(err, errRuns) || lasts(err) {
		return nil
	}
	return err
}

// handOver calls Orphan for a task. The task is due again after orphanPause.
func (w *worker) handOver(ctx context.Context, key durable.Work, e *entry) error {
	t := w.tasks
	if err := w.postpone(ctx, key, e); err != nil {
		return unlessStale(err)
	}
	o := Orphan{ID: e.ID, Tool: e.Durable.Tool, Attempt: e.Durable.Attempt + 1}
	if e.waits() {
		o.Attempt--
	}
	if err := usercode.Run(func() error { return t.o.Durable.Orphan(ctx, o) }); err != nil {
		t.o.logger().LogAttrs(ctx, slog.LevelError, "function Orphan failed", append(usercode.Attrs(err), slog.String("task", e.ID[:6]))...)
	}
	return nil
}

// postpone makes a task that nobody runs due after orphanPause.
func (w *worker) postpone(ctx context.Context, key durable.Work, e *entry) error {
	t := w.tasks
	if !t.enterRun(e.ID) {
		return errRuns
	}
	defer t.leaveRun(e.ID)
	term, err := t.lease.Enter(ctx)
	if err != nil {
		return err
	}
	defer term.Leave()
	if err := t.isFree(ctx, e, term); err != nil {
		return t.removeStale(ctx, key, e, err)
	}
	if err := t.deadLetterIfLastAttempt(ctx, key, e, term); err != nil {
		return err
	}
	holder, due := e.Durable.Holder, e.Durable.Due
	return t.reschedule(ctx, e.ID, key, time.Now().Add(orphanPause), func(e *entry) error {
		if e.Durable.Due != due {
			return errStale
		}
		if e.waits() {
			e.Durable.Attempt-- // its attempt goes on
		}
		return isHeldBy(e, holder)
	})
}

// Run runs a durable task in this process, for an author who has a queue of its own, see
// DurableOptions.Orphan. It returns when the attempt has ended: nil also if the task is to be
// tried again, or has ended before. It fails when another process runs the task, when the task
// is unknown or a dead letter, and when its tool is not registered here. It waits for a place if
// DurableOptions.MaxTaken are taken. When ctx ends, Run returns, and the attempt goes on.
func (t *Tasks) Run(ctx context.Context, id string) error {
	e, _, err := t.entries.read(ctx, id)
	switch {
	case err != nil:
		return fmt.Errorf("run task: %w", err)
	case e.Durable == nil:
		return errors.New("run task: the task is not durable")
	case e.Status.Terminal():
		return nil
	case e.Durable.Dead != "":
		return errDeadLetter
	case !t.srv.HasDurable(e.Durable.Tool):
		return fmt.Errorf("run task: tool %q is not registered here with the option Durable", e.Durable.Tool)
	}
	if err := t.places.take(ctx, e.Owner); err != nil {
		return err
	}
	key := t.queue.Due(time.UnixMilli(e.Durable.Due), id)
	if e.Durable.Holder != "" {
		key = t.queue.Running(e.Durable.Holder, id)
	}
	o, err := t.take(ctx, key, e.Owner)
	if err != nil {
		t.places.leave(e.Owner)
		if errors.Is(err, errStale) {
			return nil
		}
		return fmt.Errorf("run task: %w", err)
	}
	o.replay(context.WithoutCancel(ctx))
	select {
	case <-o.d.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
