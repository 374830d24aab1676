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
	if slot == nil {
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
	all    map[*waitingQuestion]struct{} // guarded by mu
	marked time.Time                     // when markAbsent last ran; guarded by mu
}

// waitingQuestion is one question that waits for its client.
type waitingQuestion struct {
	place   *limit.Place // guarded by the mu of waitingQuestions
	owner   limit.Owner
	session *exchange.Session
	cancel  context.CancelCauseFunc
	absent  bool // its client is absent; guarded by the mu of waitingQuestions
}

func newWaitingQuestions(o *AskOptions) waitingQuestions {
	return waitingQuestions{
		pool: limit.NewPool(limit.PoolBounds{Total: int64(o.maxQuestions()), Each: int64(o.ownerQuestions())}),
		all:  make(map[*waitingQuestion]struct{}),
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
		return nil, nil, mcp.RetryLaterf(code, retryWhole, "too many questions wait for their answers: %v", err)
	}
	w.mu.Lock()
	q.place = place
	w.all[q] = struct{}{}
	w.mu.Unlock()
	return ctx, func() {
		w.mu.Lock()
		delete(w.all, q)
		w.mu.Unlock()
		place.Release()
		cancel(nil)
	}, nil
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
	for q := range w.all {
		switch absent := q.session.Presence.AbsentFor() >= clientAbsent; {
		case absent && !q.absent:
			q.place.SetIdle(true)
			q.absent = true
		case !absent && q.absent:
			q.place.SetBusy()
			q.absent = false
		}
	}
}

// cancelAbsent cancels one question of the owner whose client is absent, and reports whether
// there was one.
func (w *waitingQuestions) cancelAbsent(o limit.Owner) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for q := range w.all {
		if q.owner == o && q.session.Presence.AbsentFor() >= clientAbsent && q.place.Release() {
			delete(w.all, q)
			q.end()
			return true
		}
	}
	return false
}
