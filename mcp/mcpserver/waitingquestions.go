package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// clientAbsent is the time without a stream or a message of a client after which the client
// counts as absent: when there are too many questions, its questions are cancelled first.
const clientAbsent = 30 * time.Second

// errQuestionCancelled is the error of a question that was cancelled because of a limit.
var errQuestionCancelled = fmt.Errorf("%w: given up, because too many questions wait for their answers", ErrAskExpired)

// waitForClient calls ask, which waits for an answer of the client. Meanwhile the call does
// not count as running, its timeout is paused, and its tool's slot is released. The number
// of waiting questions is limited per owner and in total.
func (r *Request) waitForClient(ctx context.Context, ask func(context.Context) error) error {
	if r.in.Session == nil || r.in.BackChannel == nil {
		return ErrCannotAsk
	}
	if ctx.Value(waitKey{}) == r {
		return ask(ctx)
	}
	return r.waitIdle(ctx, ask)
}

// WaitIdle calls wait, which waits for something that the server does not do itself, such as
// the decision of a person in another program. Meanwhile the call of ctx does not count as
// running, its Timeout is paused, and its tool's slot (Limit) is released, as while it waits
// for its client (Ask). Calls that wait count as questions: AskOptions.MaxQuestions and
// AskOptions.OwnerQuestions limit them. A call over the limit gets an error of code
// mcp.CodeRateLimited or mcp.CodeOverloaded, without a call of wait; when a waiting call has
// to make room, the context of wait ends with a cause that wraps ErrAskExpired. Otherwise
// WaitIdle returns the error of wait.
//
// A question that wait asks with its context, by Request.Call, is a part of the wait: it does not
// count again, and has its answer before the call has its slot again. ContextInWait makes another
// context one of the wait.
//
// It may be called by several goroutines of a call. Outside of a call it only calls wait.
func WaitIdle(ctx context.Context, wait func(context.Context) error) error {
	r := From(ctx)
	if r == nil || r.in == nil {
		return wait(ctx)
	}
	return r.waitIdle(ctx, func(ctx context.Context) error { return wait(context.WithValue(ctx, waitKey{}, r)) })
}

// waitKey is the key of the request that waits, in the context of a wait.
type waitKey struct{}

// ContextInWait returns ctx as a context of the wait that has the context wait, which WaitIdle has
// made, or ctx itself if WaitIdle has not. It ends with ctx, and not with the wait.
func ContextInWait(ctx, wait context.Context) context.Context {
	if r, ok := wait.Value(waitKey{}).(*Request); ok {
		return context.WithValue(ctx, waitKey{}, r)
	}
	return ctx
}

// waitIdle is WaitIdle.
func (r *Request) waitIdle(ctx context.Context, ask func(context.Context) error) error {
	kept, err := r.keepWaiting()
	if err != nil {
		return err
	}
	defer kept.release()
	ctx, done, err := r.server.questions.add(ctx, r.in)
	if err != nil {
		r.ReportLimit(mcp.LimitQuestions)
		return err
	}
	func() {
		defer r.pauseSlots(ctx)()
		defer done()
		err = ask(ctx)
	}()
	if errors.Is(context.Cause(ctx), errQuestionCancelled) {
		r.ReportLimit(mcp.LimitQuestions)
	}
	return err
}

// pauseSlots releases the call's slot among the running calls and that of its tool, and pauses
// its timeout, until resume is called. resume acquires the slots in the order in which they
// were acquired at first: the one among the running calls, then the one of the tool. In
// another order two calls could wait for each other.
func (r *Request) pauseSlots(ctx context.Context) (resume func()) {
	slot := r.slotLease()
	// The slot of detached work was released at the end of its request.
	if slot == nil || r.detached != nil {
		return exchange.PauseAll(ctx)
	}
	slot.Pause()
	resumeAll := exchange.PauseAll(ctx)
	return func() {
		slot.Resume()
		resumeAll()
	}
}

// waitingQuestions are the questions of all calls that wait for their clients.
type waitingQuestions struct {
	pool *limit.Pool

	mu     sync.Mutex
	owners map[limit.Owner]*ownerQuestions // those with waiting questions; guarded by mu
	marked time.Time                       // when markAbsent last ran; guarded by mu
}

// ownerQuestions are the waiting questions of one owner. They are guarded by the mu of
// waitingQuestions.
type ownerQuestions struct {
	all     map[*waitingQuestion]struct{}
	absent  []*waitingQuestion // of absent clients when the questions were last searched
	checked time.Time          // when that was
}

// waitingQuestion is one question that waits for its client.
type waitingQuestion struct {
	place   *limit.Place // guarded by the mu of waitingQuestions
	owner   limit.Owner
	session *exchange.Session // nil in the stateless era
	cancel  context.CancelCauseFunc
	absent  bool // its client is absent; guarded by the mu of waitingQuestions
}

func newWaitingQuestions(o *AskOptions) waitingQuestions {
	return waitingQuestions{
		pool:   limit.NewPool(limit.PoolBounds{Total: int64(o.maxQuestions()), Each: int64(o.ownerQuestions())}),
		owners: make(map[limit.Owner]*ownerQuestions),
	}
}

// add registers a question to the sender of a message, and returns the context for it. When
// the question is cancelled because of a limit, the cause of the context is
// errQuestionCancelled. done removes the question.
func (w *waitingQuestions) add(ctx context.Context, in *exchange.Inbound) (_ context.Context, done func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	q := &waitingQuestion{owner: in.Owner(), session: in.Session, cancel: cancel}
	w.markAbsent()
	place, err := w.pool.Take(q.owner, 1, q.end)
	if errors.Is(err, limit.ErrOwnerFull) && w.cancelAbsent(q.owner) {
		place, err = w.pool.Take(q.owner, 1, q.end)
	}
	if err != nil {
		cancel(nil)
		code := mcp.CodeOverloaded
		if errors.Is(err, limit.ErrOwnerFull) {
			code = mcp.CodeRateLimited
		}
		return nil, nil, mcp.PeerRetryLaterf(code, retryWhole, "too many questions wait for their answers: %v", err)
	}
	w.mu.Lock()
	q.place = place
	w.insertLocked(q)
	w.mu.Unlock()
	return ctx, func() {
		w.mu.Lock()
		w.removeLocked(q)
		w.mu.Unlock()
		place.Release()
		cancel(nil)
	}, nil
}

func (w *waitingQuestions) insertLocked(q *waitingQuestion) {
	o := w.owners[q.owner]
	if o == nil {
		o = &ownerQuestions{all: make(map[*waitingQuestion]struct{})}
		w.owners[q.owner] = o
	}
	o.all[q] = struct{}{}
}

// removeLocked removes a question, once or several times.
func (w *waitingQuestions) removeLocked(q *waitingQuestion) {
	o := w.owners[q.owner]
	if o == nil {
		return
	}
	delete(o.all, q)
	if len(o.all) == 0 {
		delete(w.owners, q.owner)
	}
}

func (q *waitingQuestion) clientAbsent() bool {
	return q.session != nil && q.session.Presence.AbsentFor() >= clientAbsent
}

func (q *waitingQuestion) end() { q.cancel(errQuestionCancelled) }

// markAbsent marks the questions of absent clients as idle in the pool, at most once a second
// and only while the pool is full.
func (w *waitingQuestions) markAbsent() {
	if !w.pool.Full() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.marked) < time.Second {
		return
	}
	w.marked = time.Now()
	for _, o := range w.owners {
		for q := range o.all {
			q.markAbsentLocked()
		}
	}
}

func (q *waitingQuestion) markAbsentLocked() {
	switch absent := q.clientAbsent(); {
	case absent && !q.absent:
		q.place.SetIdle(true)
		q.absent = true
	case !absent && q.absent:
		q.place.SetBusy()
		q.absent = false
	}
}

// cancelAbsent cancels one question of the owner whose client is absent, and reports whether
// it found one. It searches the questions of the owner at most once a second.
func (w *waitingQuestions) cancelAbsent(owner limit.Owner) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.owners[owner]
	if o == nil {
		return false
	}
	if len(o.absent) == 0 && time.Since(o.checked) >= time.Second {
		o.findAbsent()
	}
	for len(o.absent) > 0 {
		last := len(o.absent) - 1
		q := o.absent[last]
		o.absent[last], o.absent = nil, o.absent[:last]
		if _, waits := o.all[q]; waits && q.clientAbsent() && q.place.Release() {
			w.removeLocked(q)
			q.end()
			return true
		}
	}
	return false
}

// findAbsent searches the questions for those whose client is absent.
func (o *ownerQuestions) findAbsent() {
	o.checked = time.Now()
	for q := range o.all {
		if q.clientAbsent() {
			o.absent = append(o.absent, q)
		}
	}
}
