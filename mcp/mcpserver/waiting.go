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

// clientAway is the time without a stream or a message of a client after which its
// questions are the first to be cancelled.
const clientAway = 30 * time.Second

// errGivenUp is the error of a question that was cancelled because of a limit.
var errGivenUp = fmt.Errorf("%w: given up, because too many questions wait for their answers", ErrAskExpired)

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
		defer r.yield(ctx)()
		defer done()
		err = ask(ctx)
	}()
	if errors.Is(context.Cause(ctx), errGivenUp) {
		r.ReportLimit(mcp.LimitQuestions)
	}
	return err
}

// yield gives back what the call holds until resume is called, which takes it again in
// the order in which it was taken at first: the place among the running calls before the
// slot of the tool. In another order two calls could wait for each other.
func (r *Request) yield(ctx context.Context) (resume func()) {
	place := r.placeLease()
	if place == nil {
		return exchange.PauseAll(ctx)
	}
	place.Pause()
	release := exchange.PauseAll(ctx)
	return func() {
		place.Resume()
		release()
	}
}

// waitingQuestions are the questions of all calls that wait for their clients.
type waitingQuestions struct {
	pool *limit.Pool

	mu     sync.Mutex
	all    map[*waitingQuestion]struct{} // guarded by mu
	marked time.Time                     // guarded by mu: when it was last looked who is away
}

// waitingQuestion is one question.
type waitingQuestion struct {
	place   *limit.Place // guarded by the lock of all
	owner   limit.Owner
	session *exchange.Session
	giveUp  context.CancelCauseFunc
	away    bool // guarded by the lock of all
}

func newWaitingQuestions(o *AskOptions) waitingQuestions {
	return waitingQuestions{
		pool: limit.NewPool(limit.PoolBounds{Total: int64(o.maxQuestions()), Each: int64(o.ownerQuestions())}),
		all:  make(map[*waitingQuestion]struct{}),
	}
}

// add registers a question for the sender of a message. Its context ends with errGivenUp
// when it is cancelled because of a limit. done removes it.
func (w *waitingQuestions) add(ctx context.Context, in *exchange.Inbound) (_ context.Context, done func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	q := &waitingQuestion{owner: in.Owner(), session: in.Session, giveUp: cancel}
	w.markAway()
	place, err := w.pool.Take(q.owner, 1, q.end)
	if errors.Is(err, limit.ErrOwnerFull) && w.giveUpAway(q.owner) {
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

func (q *waitingQuestion) end() { q.giveUp(errGivenUp) }

// markAway tells the pool whose clients are away, once a second while it is full.
func (w *waitingQuestions) markAway() {
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
		switch away := q.session.Presence.AbsentFor() >= clientAway; {
		case away && !q.away:
			q.place.SetIdle(true)
			q.away = true
		case !away && q.away:
			q.place.SetBusy()
			q.away = false
		}
	}
}

// giveUpAway cancels a question of an owner whose client is away, and reports whether there
// was one.
func (w *waitingQuestions) giveUpAway(o limit.Owner) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for q := range w.all {
		if q.owner == o && q.session.Presence.AbsentFor() >= clientAway && q.place.Release() {
			delete(w.all, q)
			q.end()
			return true
		}
	}
	return false
}
