package mcpserver

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// In the stateless era the answer to a question is a new call, with a requestState. It is not
// refused because of other calls: if it has to wait, it waits before the other calls of its
// owner, and as long as its client does. What a client can gain is limited:
//
//	checkRate                    of the method, and of one tool: an answer is not refused
//	 └─ answersQuestion          see below
//	waitForPlace                 at the gate of all calls, and of one tool
//	 ├─ answersQuestion          reads the state; those of large calls a few at a time, by owner
//	 │   └─ readState            requeststate.go: seal, principal, method, name, arguments; once
//	 │       └─ answeredStates   the first call with this state
//	 ├─ countAnswer              a call that waits is one of the owner's questions; its bytes count, too
//	 └─ Gate.EnterFirst
//
// A call that fails one of these tests waits as other calls do.
type answers struct {
	reading *limit.Gate[limit.Owner] // of states of large calls, before their calls are admitted
	bytes   *limit.Pool              // of the calls that wait
	states  answeredStates
}

const (
	// smallCall limits the params of calls whose states are read at once, which costs about as
	// much as it has cost to decode their messages. Others are read a few at a time.
	smallCall = 128 << 10
	// maxStateWait is how long a larger call waits at most for its state to be read before it is
	// admitted.
	maxStateWait = 2 * time.Second
)

func (a *answers) init(o *LoadOptions) {
	waiting := limit.Bounds{Calls: o.maxWaiting(), Bytes: maxAnswerBytes(o)}
	some := limit.Bounds{Calls: max(runtime.GOMAXPROCS(0)/2, 1), Bytes: waiting.Bytes}
	a.reading = limit.NewGate[limit.Owner](some, waiting, maxStateWait)
	a.reading.Turn = limit.Owner.Distinct
	a.bytes = limit.NewPool(limit.PoolBounds{Total: int64(maxAnswerBytes(o)), Each: int64(ownerAnswerBytes(o))})
}

func maxAnswerBytes(o *LoadOptions) int   { return o.maxBytes() / 4 }
func ownerAnswerBytes(o *LoadOptions) int { return o.maxBytes() / 16 }

// waitForPlace enters a gate. A call that answers a question has precedence.
func (r *Request) waitForPlace(ctx context.Context, g *limit.Gate[limit.Owner], share *limit.Share, size int) error {
	owner := r.in.Owner()
	if !r.answersQuestion() {
		return g.Enter(ctx, share, size, owner)
	}
	if g.TryEnter(share, size) {
		return nil
	}
	waiting, done, err := r.countAnswer(ctx, size)
	if err != nil {
		return g.Enter(ctx, share, size, owner)
	}
	defer done()
	err = g.EnterFirst(waiting, share, size, owner)
	if errors.Is(err, errQuestionCancelled) {
		r.ReportLimit(mcp.LimitQuestions)
		return limit.ErrWhole
	}
	return err
}

// countAnswer counts the call as a question of its owner that waits, and its bytes. The context
// that it returns ends with errQuestionCancelled when they are needed for another owner.
func (r *Request) countAnswer(ctx context.Context, size int) (_ context.Context, done func(), err error) {
	ctx, removeQuestion, err := r.server.questions.add(ctx, r.in)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	end := func() { cancel(errQuestionCancelled) }
	place, err := r.server.answers.bytes.Take(r.in.Owner(), size+len(r.resumed.plain), end)
	if err != nil {
		cancel(nil)
		removeQuestion()
		return nil, nil, err
	}
	return ctx, func() {
		place.Release()
		cancel(nil)
		removeQuestion()
	}, nil
}

// answersQuestion reports whether the call is the first with a requestState that is valid for it.
// It does not read the Store.
func (r *Request) answersQuestion() bool {
	if r.resumed == nil {
		if r.replayed || !r.mayBringState() || r.call.CallParams().RequestState == nil {
			return false
		}
		if size := len(r.in.Message.Params); size > smallCall {
			reading := r.server.answers.reading
			if reading.Enter(r.ctx, nil, size, r.in.Owner()) != nil {
				return false
			}
			defer reading.Leave(nil, size)
		}
		r.readState()
	}
	return r.resumed != nil && r.resumed.first
}

// returnAnswer has the next call with the state of r be the first, because r is not admitted.
func (r *Request) returnAnswer() {
	if r.resumed != nil && r.resumed.first {
		r.server.answers.states.remove(r.resumed.mark)
	}
}

// answeredStates remember which states calls have brought, for at least as long as the states are
// valid. When there are too many, the oldest are forgotten: their next call has precedence again,
// among the calls of its owner.
type answeredStates struct {
	mu     sync.Mutex
	recent map[stateMark]struct{} // guarded by mu
	older  map[stateMark]struct{} // guarded by mu
	since  time.Time              // guarded by mu: when recent was empty
}

// maxAnsweredStates limits each of the two generations of answeredStates.
const maxAnsweredStates = 65_536

// stateMark identifies a state: a part of its authentication tag.
type stateMark [16]byte

// markOf returns the mark of a valid token. Its last two characters are left out, because
// different ones can have the same meaning.
func markOf(token []byte) stateMark {
	return stateMark(token[len(token)-len(stateMark{})-2:])
}

// add remembers a state that is valid for that time at most. It reports false if it is known.
func (a *answeredStates) add(m stateMark, valid time.Duration) (first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); len(a.recent) >= maxAnsweredStates || now.Sub(a.since) >= valid {
		a.older, a.recent, a.since = a.recent, make(map[stateMark]struct{}), now
	}
	_, recent := a.recent[m]
	_, older := a.older[m]
	if !recent && !older {
		a.recent[m] = struct{}{}
	}
	return !recent && !older
}

func (a *answeredStates) remove(m stateMark) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.recent, m)
	delete(a.older, m)
}
