package relay

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// questionDelay is how long a round waits for further questions after the first.
	questionDelay = 20 * time.Millisecond
	// maxQueuedMessages limits the notifications that wait for the caller's next round.
	maxQueuedMessages = 64
	// maxOpenQuestions limits the calls of one principal or address at one upstream that wait for answers,
	// and maxAllOpenQuestions those of all clients. Each has a connection of its own, with its process.
	maxOpenQuestions    = 16
	maxAllOpenQuestions = 256
)

var (
	errManyQuestions = link.PublicErrorf("too many of its questions wait for answers, %d of one client or %d of all; answer one, or wait until it expires", maxOpenQuestions, maxAllOpenQuestions)
	errQuestionEnded = link.PublicErrorf("the call was ended while its question waited for an answer, because newer ones wait, too, and the limit is %d of one client; send it again", maxOpenQuestions)
)

// newOpenQuestions returns the pool of the calls that wait for answers.
func newOpenQuestions() *mcpserver.OwnerPool {
	return mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: maxAllOpenQuestions, Group: maxOpenQuestions})
}

// parkedCall is a call for a caller of the stateless era, which takes no requests during
// a call. The call goes on between the rounds of its caller:
//
//	caller      ── request ──▶        ◀── input required ──  ··  ── retry ──▶        ◀── result ──
//	parkedCall        └── call ──▶ question                          └── answer ──▶ result
//
// One request at a time waits for it.
type parkedCall struct {
	*call
	stop        context.CancelCauseFunc
	hasQuestion chan struct{} // one token: there is a question

	done      chan struct{} // closed when the call is done
	result    mcp.Result    // set before done is closed, as is err
	err       error
	delivered bool // a request has taken the result or was cancelled

	mu        sync.Mutex
	place     *mcpserver.OwnerPlace      // guarded by mu: of the call while no request waits for it, or nil
	waiter    context.Context            // guarded by mu: context of the request that waits, or nil
	changed   chan struct{}              // guarded by mu: closed when waiter is set or cleared; nil if nobody waits for that
	queued    []func(context.Context)    // guarded by mu: notifications for the next request
	questions map[string]*parkedQuestion // guarded by mu
	lastKey   int                        // guarded by mu: number of the last question
}

// parkedQuestion is a question that waits for the caller's next round.
type parkedQuestion struct {
	mcp.InputRequest
	answer chan parkedAnswer
	fault  error // of the last answer, or nil; guarded by parkedCall.mu
}

// parkedAnswer is the answer to a question, or why there is none.
type parkedAnswer struct {
	raw jsontext.Value
	err error
}

// errAbandoned ends a call whose caller sends no further round.
var errAbandoned = errors.New("the client sent no answer in time")

// startParkedCall starts a call for the request of ctx. The call may last longer than
// ctx.
func startParkedCall(ctx context.Context, r *mcpserver.Request, do func(*call) (mcp.Result, error)) *parkedCall {
	n := &parkedCall{hasQuestion: make(chan struct{}, 1), done: make(chan struct{}), questions: make(map[string]*parkedQuestion), waiter: ctx}
	n.call = &call{notify: n.notifyRequest, parked: n}
	n.CallParams = link.CallParams{Request: r, Waits: n.currentRequest, Ask: n.askInNextRound, Person: n.call}
	n.Context, n.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	n.deadline.ctx, n.deadline.end = n.Context, n.stop
	go func() {
		defer n.releasePlace()
		defer close(n.done)
		defer n.stop(nil)
		n.result, n.err = do(n.call)
	}()
	return n
}

// takePlace counts the call to an owner until a request waits for it again, or it is done. The call ends
// if the place is taken from it.
func (p *parkedCall) takePlace(pool *mcpserver.OwnerPool, o mcpserver.Owner) error {
	place, err := pool.Take(o, 1, func() { p.stop(errQuestionEnded) })
	if err != nil {
		return errManyQuestions
	}
	place.SetIdle(true) // of one address, the longest open question goes
	p.mu.Lock()
	p.place = place
	p.mu.Unlock()
	if p.isDone() {
		p.releasePlace()
	}
	return nil
}

func (p *parkedCall) releasePlace() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.place.Release()
}

// wait waits until the call is done, and returns nil, or until it asks, and returns the
// questions. If ctx ends, so does the call.
func (p *parkedCall) wait(ctx context.Context) *mcp.InputRequiredResult {
	p.attach(ctx)
	defer p.detach()
	for {
		select {
		case <-p.done:
			p.delivered = true
			return nil
		case <-p.hasQuestion:
			time.Sleep(questionDelay)
			if in := p.inputRequired(); in != nil && !p.isDone() {
				return in
			}
		case <-ctx.Done():
			p.delivered = true
			p.cancelAndWait(context.Cause(ctx))
			return nil
		}
	}
}

// attach makes ctx the context of the request that waits, and sends it the queued
// notifications.
func (p *parkedCall) attach(ctx context.Context) {
	p.releasePlace()
	p.mu.Lock()
	missed := p.queued
	if p.waiter == nil {
		p.announceLocked()
	}
	p.waiter, p.queued = ctx, nil
	if len(p.questions) > 0 {
		signal(p.hasQuestion)
	}
	p.mu.Unlock()
	for _, message := range missed {
		message(ctx)
	}
}

// currentRequest returns the context of the request that waits. If none does, it is the
// context of the call.
func (p *parkedCall) currentRequest() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiter == nil {
		return p.Context
	}
	return p.waiter
}

// detach notes that no request waits.
func (p *parkedCall) detach() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiter = nil
	p.announceLocked()
}

// announceLocked announces that a request waits now, or that none does. The caller holds mu.
func (p *parkedCall) announceLocked() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// attached returns the context of the request that waits, or nil, and a channel that is closed when the
// request waits no longer, or when one does.
func (p *parkedCall) attached() (request context.Context, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.waiter, p.changed
}

// notifyRequest sends a notification to the request that waits, or queues it for the next
// one. A full queue drops its oldest notification.
func (p *parkedCall) notifyRequest(message func(context.Context)) {
	p.mu.Lock()
	ctx := p.waiter
	if ctx == nil {
		if p.queued = append(p.queued, message); len(p.queued) > maxQueuedMessages {
			p.queued = p.queued[1:]
		}
	}
	p.mu.Unlock()
	if ctx != nil {
		message(ctx)
	}
}

// askInNextRound adds a question and waits until a round of the caller brings the answer.
func (p *parkedCall) askInNextRound(ctx context.Context, method string, params, answer any) error {
	in, err := inputRequest(method, params)
	if err != nil {
		return err
	}
	q := &parkedQuestion{InputRequest: in, answer: make(chan parkedAnswer, 1)}
	key := p.addQuestion(q)
	defer p.takeQuestion(key)
	signal(p.hasQuestion)
	select {
	case given := <-q.answer:
		if given.err != nil {
			return given.err
		}
		return json.Unmarshal(given.raw, answer)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *parkedCall) addQuestion(q *parkedQuestion) (key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastKey++
	key = strconv.Itoa(p.lastKey)
	p.questions[key] = q
	return key
}

func (p *parkedCall) takeQuestion(key string) *parkedQuestion {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.questions[key]
	delete(p.questions, key)
	return q
}

// inputRequired returns the open questions, or nil if there is none.
func (p *parkedCall) inputRequired() *mcp.InputRequiredResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.questions) == 0 {
		return nil
	}
	in := &mcp.InputRequiredResult{InputRequests: make(map[string]mcp.InputRequest, len(p.questions))}
	for key, q := range p.questions {
		if in.InputRequests[key] = q.InputRequest; q.fault != nil {
			in.InputRequests[key] = askedAgain(q.InputRequest, q.fault)
		}
	}
	return in
}

// deliverAnswers hands the answers of one round to their questions. After an answer that does not fit a
// question is asked once more, with the reason. Then the server gets an error.
func (p *parkedCall) deliverAnswers(given map[string]jsontext.Value) {
	for key, raw := range given {
		q := p.question(key)
		if q == nil {
			continue
		}
		answer := parkedAnswer{raw: raw}
		if fault := answerFault(q.InputRequest, raw); fault != nil {
			if p.askAgain(q, fault) {
				continue
			}
			answer.err = mcp.Errorf(mcp.CodeInvalidParams, "%s: the answer does not fit, as the one before: %s", q.Method, shownFault(fault))
		}
		if p.takeQuestion(key) == q {
			q.answer <- answer
		}
	}
}

// askAgain notes why the last answer to a question was not used. It reports false if the question was
// asked again before.
func (p *parkedCall) askAgain(q *parkedQuestion, fault error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	again := q.fault == nil
	q.fault = fault
	return again
}

func (p *parkedCall) question(key string) *parkedQuestion {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.questions[key]
}

// isDone reports whether the call is done.
func (p *parkedCall) isDone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// cancelAndWait cancels the call and waits for its end.
func (p *parkedCall) cancelAndWait(why error) {
	p.stop(why)
	<-p.done
}

// abandon cancels a call that mcpserver no longer keeps. It notifies the policy if no request took its
// result.
func (p *parkedCall) abandon(policy Policy) {
	p.cancelAndWait(errAbandoned)
	if !p.delivered {
		policy.Abandoned(errAbandoned)
	}
}

// signal sends a token unless one is pending.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
