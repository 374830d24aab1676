// Package relay sends the requests of callers to one upstream, and what belongs to them back: progress,
// log messages, questions in all pairs of eras, changes of resources, and errors without the details of
// the upstream. Which features exist, and who may use them, is decided by those who call it.
//
//	caller      upstream    a question
//	session     session     is a request to the caller
//	session     stateless   ends the request at the upstream; mcpserver asks and runs the handler again
//	stateless   session     ends the caller's round; the request at the upstream is parked until the next
//	stateless   stateless   ends both; the host's state contains the state of the upstream
package relay

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// stateOnlyPause delays a call of the session era when its upstream returns state without
// questions, which means "call again later".
const stateOnlyPause = 500 * time.Millisecond

// rootsGrace is how long the first call over a connection waits for the question for roots before it
// ends: servers send it as soon as they are connected.
const rootsGrace = 30 * time.Millisecond

// Relay relays requests to one upstream. It is safe for concurrent use.
type Relay struct {
	Params
	questions questions
	roots     ownRoots
	elicited  elicitedURLs
	errors    callerErrors
	health    health
	watches   watches
	// openQuestions has a place for each call that waits for its caller's next round.
	openQuestions *mcpserver.OwnerPool
}

// New returns a relay to an upstream.
func New(p Params) *Relay {
	rl := &Relay{
		Params:    p,
		questions: questions{p.Upstream, p.OtherKeys, p.AskPerson != nil},
		elicited:  newElicitedURLs(p),
		health:    health{Params: p},
		watches:   watches{Params: p, pool: mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: MaxWatches})},

		openQuestions: newOpenQuestions(),
	}
	rl.roots.admit = p.AdmitRoots
	rl.roots.paths.Store(&p.Upstream.Settings.Roots)
	rl.errors = callerErrors{p, &rl.questions, &rl.elicited}
	return rl
}

// MayAsk reports whether the upstream may ask a caller with certain capabilities anything.
func (rl *Relay) MayAsk(c link.Capabilities) bool {
	return rl.questions.relayed(c) != link.Capabilities{}
}

// Send sends a request for the caller of ctx over the connection that serves the caller, and relays the
// questions of the upstream. When ctx ends, the request is cancelled at the upstream.
func (rl *Relay) Send(ctx context.Context, q *Request) (mcp.Result, error) {
	if q.State.Upstream != "" && q.State.Upstream != rl.Key {
		return nil, mcpserver.ErrParkLost // the URI leads to another upstream by now
	}
	if err := q.Policy.Begin(q.State.Parked != ""); err != nil {
		return nil, err
	}
	r := mcpserver.From(ctx)
	if q.State.Parked != "" || r.Revision().Stateless() && rl.Pool.CanAskCaller(link.CallerOf(r)) {
		return rl.sendInRounds(ctx, r, q)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	return rl.sendCall(newDirectCall(ctx, end, r), q)
}

// sendInRounds sends a request whose caller can be asked only between rounds.
func (rl *Relay) sendInRounds(ctx context.Context, r *mcpserver.Request, q *Request) (mcp.Result, error) {
	var parked *parkedCall
	park := func(key string, open func() (*parkedCall, error)) (err error) {
		parked, err = mcpserver.Park(ctx, key, func(context.Context) (*parkedCall, error) { return open() }, func(parked *parkedCall) { parked.abandon(q.Policy) })
		return err
	}
	key := q.State.Parked
	if key == "" {
		parked = startParkedCall(ctx, r, func(c *call) (mcp.Result, error) { return rl.sendCall(c, q) })
	} else if err := park(key, func() (*parkedCall, error) { return nil, mcpserver.ErrParkLost }); err != nil {
		return nil, err
	}
	parked.deliverAnswers(upstreamAnswers(q.Answers))
	input := parked.wait(ctx)
	if input == nil {
		return parked.result, parked.err
	}
	if err := parked.takePlace(rl.openQuestions, r.Owner()); err != nil {
		parked.cancelAndWait(err)
		return nil, rl.errors.of(r, err)
	}
	if key == "" {
		key = fmt.Sprintf("call-%d", r.Round())
		started := parked
		if err := park(key, func() (*parkedCall, error) { return started, nil }); err != nil {
			started.cancelAndWait(err)
			return nil, err
		}
	}
	return RoundState{Upstream: rl.Key, Parked: key, Policy: q.Policy.NextRound()}.wrap(input)
}

// sendCall sends a request over the connection that serves its caller, or over the given one.
func (rl *Relay) sendCall(c *call, q *Request) (mcp.Result, error) {
	c.progress.raise(q.State.Progress)
	answers, err := rl.answers(c.Context, q)
	if err == nil {
		err = rl.reviewReplies(c, q.State.Reviewed, answers)
	}
	if err != nil {
		return nil, rl.errors.ofPerson(c.Request, err)
	}
	l, err := rl.lease(c, q.On)
	if err != nil {
		rl.health.recordCall(c.Context, err)
		return nil, rl.errors.of(c.Request, err)
	}
	rl.startDeadline(c, l, q.Tool, time.Duration(q.State.Spent))
	opts := c.options(l)
	if q.State.UpstreamState != nil || rl.Pool.CanAskCaller(link.CallerOf(c.Request)) || l.Stateless() && rl.AsksPerson(link.CapabilitiesOf(c.Request)) {
		opts = append(opts, mcpclient.ManualInput())
		if l.Stateless() && (q.State.UpstreamState != nil || len(answers) > 0) {
			opts = append(opts, mcpclient.WithInput(mcp.InputResponseParams{InputResponses: answers, RequestState: q.State.UpstreamState}))
		}
	}
	result, err := q.Send(c.Context, l.Client, opts...)
	err = c.deadline.stop(err)
	if err == nil {
		if l.IsFirstCall() && link.CapabilitiesOf(c.Request).Roots && !l.Stateless() {
			time.Sleep(rootsGrace)
		}
		l.EndQuestions()
	}
	if ended, ok := errors.AsType[*link.PublicError](context.Cause(c.Context)); ok && err != nil {
		err = ended
	}
	err = l.EndError(err)
	rl.health.recordCall(c.Context, err)
	l.Release(err)
	if required, ok := errors.AsType[*mcpclient.InputRequiredError](err); ok {
		return rl.questionsResult(c, q, required.Result)
	}
	rl.elicited.completeURLs(c.Request, q.State.URLs)
	return rl.outcome(c, result, err)
}

// outcome returns what the caller gets of the outcome of a request at the upstream.
func (rl *Relay) outcome(c *call, result mcp.Result, err error) (mcp.Result, error) {
	if err != nil {
		return nil, rl.errors.of(c.Request, err)
	}
	return cleanResult(result), nil
}

// startDeadline starts the deadline of a call over a connection. The end of a program ends its connection:
// with a timeout of the configuration an unanswered ping says no more than that the program is busy.
func (rl *Relay) startDeadline(c *call, l link.Lease, tool string, spent time.Duration) {
	_, program := rl.Target.(*mcpclient.CommandTarget)
	c.deadline.health, c.deadline.timeout = &rl.health, rl.Settings.CallTimeout(tool)
	c.deadline.toleratesPing = program && c.deadline.timeout > 0
	c.deadline.start(l, spent)
}

// lease returns a lease of the connection that serves the caller of a call, or of the given one.
func (rl *Relay) lease(c *call, on *link.Conn) (link.Lease, error) {
	return rl.Pool.Lease(c.Context, link.Use{Caller: link.CallerOf(c.Request), Owner: c.Request.Owner(), Call: &c.Call, On: on, Waiter: c})
}

// Forward sends one request in which the caller of ctx cannot be asked, over the given
// connection; nil stands for one that serves the caller. It asks no Policy: a request that has to be
// recorded before it is sent is recorded by the caller of Forward. Like a call, it may have to be the only one on
// its connection, so that a question of the server is not asked in the call of another client. When
// ctx ends, the request is cancelled at the upstream.
func (rl *Relay) Forward(ctx context.Context, on *link.Conn, send SendFunc) (mcp.Result, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	c := newSilentCall(ctx, end, mcpserver.From(ctx))
	l, err := rl.lease(c, on)
	if err != nil {
		rl.health.recordCall(ctx, err)
		return nil, rl.errors.of(c.Request, err)
	}
	rl.startDeadline(c, l, "", 0)
	opts := c.options(l)
	if c.Request.Session() == nil {
		opts = append(opts, mcpclient.ManualInput()) // otherwise any call on the connection would be asked
	}
	result, err := send(ctx, l.Client, opts...)
	err = l.EndError(c.deadline.stop(err))
	rl.health.recordCall(ctx, err)
	l.Release(err)
	if _, asks := errors.AsType[*mcpclient.InputRequiredError](err); asks {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: upstream %q requires input, and the client cannot be asked in this request", c.Request.Method(), rl.Key)
	}
	return rl.outcome(c, result, err)
}

// questionsResult returns the questions of an upstream of the stateless era as a result
// of the host.
func (rl *Relay) questionsResult(c *call, q *Request, in *mcp.InputRequiredResult) (mcp.Result, error) {
	s := RoundState{Upstream: rl.Key, UpstreamState: in.RequestState, Spent: int64(c.deadline.clock())}
	answers, left, err := rl.askPersonBetweenRounds(c, in)
	switch {
	case err != nil:
		return nil, rl.errors.ofPerson(c.Request, err)
	case len(answers) > 0 && len(left) == 0:
		s.PersonRounds, s.Progress = q.State.PersonRounds+1, c.progress.current()
		return rl.sendAgain(c, q, s, answers)
	}
	s.PersonRounds, s.PersonAnswers, s.Policy = q.State.PersonRounds, answers, q.Policy.NextRound()
	ours := &mcp.InputRequiredResult{InputRequests: make(map[string]mcp.InputRequest, len(in.InputRequests))}
	for _, key := range slices.Sorted(maps.Keys(left)) { // the user reviews them in this order
		question := left[key]
		own, asks := rl.takesRoots(c, question.Method)
		if own {
			s.Roots = append(s.Roots, key)
		}
		if !asks {
			continue
		}
		params, err := question.DecodeParams()
		if p, ok := params.(*mcp.CreateMessageParams); ok && err == nil && rl.reviews() {
			if err := rl.reviewRequest(c.Context, rl.askPersonIn(c, mcp.MethodCreateMessage), p); err != nil {
				return nil, rl.errors.ofPerson(c.Request, err)
			}
			s.Reviewed = append(s.Reviewed, key)
		}
		if err == nil {
			params, err = rl.questions.relayedQuestion(question.Method, params)
		}
		if refused, ok := errors.AsType[*mcp.Error](err); ok && !refused.Remote {
			return nil, refused
		}
		if err == nil {
			question, err = inputRequest(question.Method, params)
		}
		if err != nil {
			return nil, fmt.Errorf("upstream %q: invalid response: input %.64q: %w", rl.Key, key, err)
		}
		if p, ok := params.(*mcp.ElicitParams); ok && p.Mode == mcp.ElicitURL {
			s.URLs = append(s.URLs, p.URL)
		}
		ours.InputRequests[key] = question
	}
	rl.elicited.completeURLs(c.Request, slices.DeleteFunc(q.State.URLs, func(v string) bool { return slices.Contains(s.URLs, v) }))
	if len(ours.InputRequests) == 0 && len(s.Roots) == 0 && !c.Request.Revision().Stateless() {
		select {
		case <-time.After(stateOnlyPause):
		case <-c.Context.Done():
			return nil, context.Cause(c.Context)
		}
	}
	s.Progress = c.progress.current()
	return s.wrap(ours)
}

// CallerError turns an error of the upstream into what the sender of a request sees of it.
func (rl *Relay) CallerError(r *mcpserver.Request, err error) error { return rl.errors.of(r, err) }

// Watch adds a subscriber to a resource until stop is called. subscribed is the URI to which
// it subscribes. It returns nil if there are too many watches.
func (rl *Relay) Watch(ctx context.Context, r *mcpserver.Request, uri, subscribed string) (w *Watch, stop func()) {
	return rl.watches.watch(ctx, r, uri, subscribed)
}

// OnEvent receives an event of a connection's client.
func (rl *Relay) OnEvent(conn *link.Conn, e mcpclient.Event) {
	if conn.OnEvent(e) {
		rl.health.recordSessionLost()
	}
}

// OnNotification receives a notification of a connection's client that has no other handler.
func (rl *Relay) OnNotification(ctx context.Context, conn *link.Conn, method string, params jsontext.Value) {
	rl.elicited.onNotification(ctx, conn, method, params)
}

// FillStatus sets the fields of a status that describe calls and sessions. The fields of
// the connection are set already.
func (rl *Relay) FillStatus(s *host.Status) { rl.health.fillStatus(s) }
