package tasks

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Causes for which the context of a task ends.
var (
	errCancelled = errors.New("the task was cancelled")
	errExpired   = errors.New("the task has expired")
	// errUnanswered is sent to the client.
	errUnanswered = mcp.Errorf(mcp.CodeInternal, "the server was shut down while the task waited for an answer")
)

// finishTimeout is the limit of the time in which the outcome of a task is written.
const finishTimeout = 10 * time.Second

// run is the work on one task, in the process that does it.
type run struct {
	tasks    *Tasks
	id       string
	kind     kind
	first    *entry
	r        *mcpserver.Request // the request that became the task
	cancel   context.CancelCauseFunc
	done     func()        // reports that the handler has returned
	over     chan struct{} // closed when the outcome is stored
	returned chan struct{} // closed when the messages of the handler are sent, too
	renewing sync.WaitGroup
	durable  *durableRun // nil for tasks that end with this process

	working context.Context // of the handler

	unsaved chan struct{} // capacity 1; holds a token if progress is to be stored

	mu    sync.Mutex
	keys  map[string]int // guarded by mu: how often each question was asked
	asked int            // guarded by mu: number of all questions
	last  string         // guarded by mu: progress that is not stored yet, or empty
}

type runKey struct{}

// runNow turns a call into a task at once and returns the task as its result.
func (t *Tasks) runNow(ctx context.Context, p *mcp.CallToolParams, as kind, next mcpserver.ToolHandler) (mcp.Result, error) {
	x, err := t.begin(ctx, p, as)
	if err != nil {
		return nil, err
	}
	go func() {
		result, err := contained(x.working, p, next)
		x.finish(result, err)
	}()
	return x.created(), nil
}

// contained calls next and turns a panic into an error. A call on another goroutine needs
// it for panics of options with Wrap, which the tool itself does not recover.
func contained(ctx context.Context, p *mcp.CallToolParams, next mcpserver.ToolHandler) (result mcp.Result, err error) {
	defer usercode.Contain(&err)
	return next(ctx, p)
}

// stage is a call of a Late tool: a plain request until Begin, and then a task.
type stage struct {
	tasks *Tasks
	p     *mcp.CallToolParams
	as    kind
	began chan *run

	request context.Context         // its end is the end of the work before Begin
	end     context.CancelCauseFunc // ends the work

	// beginning holds one token: the goroutine that has put it in may begin the task. It
	// is no mutex, because the Store runs in the meantime. The handler's return leaves the
	// token in it for ever.
	beginning chan struct{}
	returned  chan struct{} // closed when the handler has returned
	run       *run          // guarded by beginning: nil before Begin
	unbind    func() bool   // guarded by beginning: stops what bind has started
}

type stageKey struct{}

// errReturned is the error of Begin in a goroutine that outlives its handler.
var errReturned = errors.New("begin task: the handler has returned")

// outcome is what a handler returned.
type outcome struct {
	result mcp.Result
	err    error
}

// runLate runs the handler of a Late tool. The result of its call is the task that the
// handler begins, or the result of the handler if it begins none.
func (t *Tasks) runLate(ctx context.Context, p *mcp.CallToolParams, as kind, next mcpserver.ToolHandler) (mcp.Result, error) {
	s := &stage{
		tasks: t, p: p, as: as, began: make(chan *run, 1), request: ctx,
		beginning: make(chan struct{}, 1), returned: make(chan struct{}),
	}
	work, end := context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), stageKey{}, s))
	s.end = end
	s.bind()
	done := make(chan outcome, 1)
	go func() {
		defer end(nil)
		result, err := contained(work, p, next)
		if x := s.close(); x != nil {
			x.finish(result, err)
			return
		}
		done <- outcome{result, err}
	}()
	select {
	case x := <-s.began:
		return x.created(), nil
	case o := <-done:
		return o.result, o.err
	}
}

// bind ends the work when the request ends.
func (s *stage) bind() {
	s.unbind = context.AfterFunc(s.request, func() { s.end(context.Cause(s.request)) })
}

// close waits for a Begin that runs and refuses later ones. It returns the task that has
// begun, or nil.
func (s *stage) close() *run {
	s.beginning <- struct{}{}
	close(s.returned)
	s.unbind()
	return s.run
}

// begin makes the call a task, unless it is one.
func (s *stage) begin(ctx context.Context) (context.Context, error) {
	select {
	case s.beginning <- struct{}{}:
		defer func() { <-s.beginning }()
	case <-s.returned:
		return nil, errReturned
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.run != nil {
		return s.run.working, nil
	}
	if !s.unbind() {
		return nil, context.Cause(s.request)
	}
	// Without a stage in its context, a Store that calls Begin does not wait for itself.
	x, err := s.tasks.begin(context.WithValue(ctx, stageKey{}, nil), s.p, s.as)
	if err != nil {
		s.bind()
		return nil, err
	}
	s.run = x
	s.began <- x
	return x.working, nil
}

// begin stores a new task and returns its run.
func (t *Tasks) begin(ctx context.Context, p *mcp.CallToolParams, as kind) (*run, error) {
	r := mcpserver.From(ctx)
	e := newEntry(ownerOf(r), r.Method(), t.ttlOf(p, as), t.o.poll())
	if r.Durable() {
		e.makeDurable(p.Name)
	}
	return t.beginRun(ctx, r, e, as)
}

// beginRun stores a new entry and returns its run.
func (t *Tasks) beginRun(ctx context.Context, r *mcpserver.Request, e *entry, as kind) (*run, error) {
	if err := t.admit(ctx, r, e); err != nil {
		return nil, err
	}
	d, err := t.openDurable(ctx, r, e)
	if err == nil {
		err = t.entries.open(ctx, e)
	}
	if err == nil {
		err = d.checkTerm()
	}
	if err == nil && t.lists(r) && !e.Call {
		err = t.entries.addToIndex(ctx, e)
	}
	var x *run
	if err == nil {
		x, err = t.start(ctx, e, as, d)
	}
	if err != nil {
		t.abandon(ctx, e.ID)
		d.abandon(ctx)
		return nil, err
	}
	t.ends(e.ID, x.cancel)
	t.audit(ctx, r, "task begins", e)
	return x, nil
}

// start detaches the work on a task from the request of ctx. d is nil for a task that is not
// durable.
func (t *Tasks) start(ctx context.Context, e *entry, as kind, d *durableRun) (*run, error) {
	x := &run{
		tasks: t, id: e.ID, kind: as, first: e, durable: d,
		over: make(chan struct{}), returned: make(chan struct{}), unsaved: make(chan struct{}, 1), keys: make(map[string]int),
	}
	if e.Call {
		x.kind = durableCall
	}
	background := mcpserver.Background{Ask: x.ask, Progress: x.progress, Attached: e.Call}
	if d != nil {
		background.BeforeStep, background.Record = x.mayRunStep, x.record
	}
	if as == coreTask {
		background.Meta = relatedTo(e.ID)
	}
	working, done, err := mcpserver.Detach(ctx, background)
	if err != nil {
		return nil, err
	}
	working, x.cancel = context.WithCancelCause(context.WithValue(working, runKey{}, x))
	working, expire := lazyctx.WithDeadline(working, e.Expires, errExpired)
	x.working, x.r = working, mcpserver.From(working)
	x.done = func() {
		expire()
		x.cancel(nil)
		done()
	}
	x.stopWithTerm()
	x.renewing.Go(x.renewLease)
	return x, nil
}

// ttlOf returns the time to live of the task of a call, which clients of 2025-11-25 may
// request.
func (t *Tasks) ttlOf(p *mcp.CallToolParams, as kind) time.Duration {
	if as != coreTask || p.Task.TTL == nil || *p.Task.TTL <= 0 {
		return t.o.ttl()
	}
	maxTTL := t.o.maxTTL()
	if *p.Task.TTL >= maxTTL.Milliseconds() {
		return maxTTL
	}
	return time.Duration(*p.Task.TTL) * time.Millisecond
}

// abandon removes a task whose id was not sent to the client.
func (t *Tasks) abandon(ctx context.Context, id string) {
	_ = t.entries.store.Delete(context.WithoutCancel(ctx), keyPrefix+id)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(id)
}

// created is the answer to the call that became the task.
func (x *run) created() mcp.Result {
	if x.kind == coreTask {
		return &mcp.CreateTaskResult{Task: x.first.core()}
	}
	return &taskResult{ResultBase: mcp.ResultBase{ResultType: ResultTask}, Task: x.first.task().seed()}
}

// progress records the progress of a handler, to be stored as the status message. It does
// not wait for the store; of several messages meanwhile only the last is stored.
func (x *run) progress(p mcp.ProgressParams) {
	if p.Message == "" || x.kind == durableCall { // nobody reads the status of a call
		return
	}
	x.mu.Lock()
	x.last = p.Message
	x.mu.Unlock()
	select {
	case x.unsaved <- struct{}{}:
	default:
	}
}

// unwritten returns the progress that is not stored yet, and removes it.
func (x *run) unwritten() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	last := x.last
	x.last = ""
	return last
}

// writeProgress stores the last progress.
func (x *run) writeProgress(ctx context.Context) {
	if last := x.unwritten(); last != "" {
		x.status(ctx, last)
	}
}

// maxStatus bounds a status message, in bytes.
const maxStatus = 1024

func (x *run) status(ctx context.Context, message string) {
	x.unwritten() // which is older
	message = statusText(message)
	_ = x.change(ctx, func(e *entry) { e.Message = message })
}

// statusText returns a text within maxStatus in valid UTF-8.
func statusText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxStatus {
		return s
	}
	end := maxStatus
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// change changes the task, unless it has ended.
func (x *run) change(ctx context.Context, change func(*entry)) error {
	_, err := x.tasks.entries.changeAndNotify(ctx, x.id, func(e *entry) error {
		if err := x.mayChange(e); err != nil {
			return err
		}
		change(e)
		return nil
	}, func(e *entry) { x.notify(ctx, e) })
	return err
}

// mayChange returns an error if the task has ended, or if another replica has taken it over.
func (x *run) mayChange(e *entry) error {
	switch {
	case e.Status.Terminal():
		return errEnded
	case x.durable != nil && e.Durable.Holder != x.durable.term.Token:
		x.cancel(errTakenOver)
		return errTakenOver
	}
	return nil
}

// notify sends the status of a task to a client of 2025-11-25. Other clients subscribe.
//
// Spec: 2025-11-25 basic/utilities/tasks#task-status-notification
func (x *run) notify(ctx context.Context, e *entry) {
	if x.kind == coreTask {
		_ = x.r.Notify(ctx, mcp.NotificationTaskStatus, &mcp.TaskStatusParams{Task: e.core()})
	}
}

// renewLease renews the lease of the task while the handler runs, and ends the handler if
// the task was cancelled, here or on another replica.
func (x *run) renewLease() {
	w := x.tasks.entries.watch(x.id)
	defer w.stop()
	renewal := time.NewTicker(lease / 3)
	defer renewal.Stop()
	for {
		select {
		case <-x.over:
			return
		case <-renewal.C:
			if x.durable != nil {
				x.tasks.entries.signal(x.id) // answers that came in elsewhere
				break                        // the whole process has a lease
			}
			_, _ = x.tasks.entries.swap(x.working, x.id, func(e *entry) error {
				if e.Status.Terminal() {
					return errEnded
				}
				e.Lease = time.Now().Add(lease)
				return nil
			}, nil)
		case <-x.unsaved:
			x.writeProgress(x.working)
			continue
		case <-w.wake:
		}
		e, _, err := x.tasks.entries.read(x.working, x.id)
		switch {
		case err != nil:
		case e.Status == mcp.TaskCancelled:
			x.notify(x.working, e)
			x.cancel(errCancelled)
			return
		case x.mayChange(e) == errTakenOver:
			return
		}
	}
}

// finish writes the outcome of the work into the entry, unless the task has ended before.
//
// Spec: ext-tasks draft#task-status
func (x *run) finish(result mcp.Result, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.working), finishTimeout)
	defer cancel()
	if x.durable != nil {
		x.finishDurable(result, err)
	} else {
		x.writeProgress(ctx)
		x.store(ctx, result, err)
	}
	if e, err := x.tasks.entries.load(ctx, x.id); err == nil && e.Status.Terminal() {
		x.tasks.audit(ctx, x.r, "task ended", e)
	}
	close(x.over)
	x.renewing.Wait()
	x.durable.end()
	x.done()
	x.tasks.ended(x.id)
	close(x.returned)
}

// store writes the outcome of the work into the entry.
func (x *run) store(ctx context.Context, result mcp.Result, err error) {
	status, raw, failure := x.judge(result, err)
	if err := x.conclude(ctx, status, raw, failure); err != nil && raw != nil && !errors.Is(err, errEnded) {
		_ = x.concludeWithout(ctx, err)
	}
}

// concludeWithout writes that the work has failed because its result could not be stored.
func (x *run) concludeWithout(ctx context.Context, err error) error {
	failure := &Failure{Code: -32603, Message: "the result could not be kept"}
	if errors.Is(err, errNoRoom) {
		x.r.ReportLimit(mcp.LimitTasks)
		failure.Message += ": too many bytes of tasks are kept"
	}
	x.tasks.o.logger().LogAttrs(ctx, slog.LevelError, failure.Message, slog.String("task", x.id[:6]), slog.Any("error", err))
	return x.conclude(ctx, mcp.TaskFailed, nil, failure)
}

func (x *run) conclude(ctx context.Context, status mcp.TaskStatus, raw jsontext.Value, failure *Failure) error {
	return x.change(ctx, func(e *entry) {
		message := e.Message
		if failure != nil {
			message = statusText(failure.Message)
		}
		e.end(status, message)
		e.Result, e.Error = raw, failure
	})
}

// judge returns the status and the result or failure to store for what the handler
// returned.
func (x *run) judge(result mcp.Result, err error) (mcp.TaskStatus, jsontext.Value, *Failure) {
	var raw jsontext.Value
	if _, asks := result.(*mcp.InputRequiredResult); err == nil && asks {
		err = errors.New("found an InputRequiredResult in a task, which has no rounds: want Ask instead")
	}
	if r, ok := result.(*mcp.CallToolResult); err == nil && ok && r.IsError && x.working.Err() != nil {
		err = context.Cause(x.working) // the handler failed because it was ended
	}
	if err == nil {
		raw, err = encodeResult(result, x.tasks.o.maxResult())
	}
	if err == nil {
		return mcp.TaskCompleted, raw, nil
	}
	fault := x.r.PublicError(x.working, err)
	return mcp.TaskFailed, nil, Failure{Code: fault.Number, Message: fault.Message, Data: fault.Data}.fit(x.tasks.o.maxResult())
}

// encodeResult encodes a result in the form of the newest revision, without metadata
// under keys of the protocol.
func encodeResult(result mcp.Result, limit int) (jsontext.Value, error) {
	raw, err := json.Marshal(result, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	var whole struct {
		mcp.ResultBase
		Rest jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, err
	}
	whole.ResultType = cmp.Or(whole.ResultType, mcp.ResultComplete)
	maps.DeleteFunc(whole.Meta, func(key string, _ jsontext.Value) bool { return mcp.ReservedMetaKey(key) })
	raw, err = json.Marshal(whole, json.Deterministic(true))
	if err == nil && len(raw) > limit {
		err = mcp.Errorf(mcp.CodeInternal, "the result has %d bytes, want at most %d for a task", len(raw), limit)
	}
	return raw, err
}
