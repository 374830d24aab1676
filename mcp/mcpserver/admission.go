package mcpserver

import (
	"errors"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// admission decides when a request may start: first by the rates, then by the limits of
// running requests, for which it may have to wait.
type admission struct {
	gate    *limit.Gate[limit.Owner]
	running *limit.RunningCalls
	shares  *limit.Shares[limit.Owner] // of authenticated principals, and of connections without a session
	share   limit.Bounds               // of any session
	rates   map[string]methodRate
}

// methodRate is how often an owner may send requests of a method.
type methodRate struct {
	ownerRate
	limit mcp.Limit
	// remote says that the rate applies only to requests over HTTP that do not come over the
	// loopback interface.
	remote bool
}

func newMethodRate(l mcp.Limit, r mcp.Rate, remote bool) methodRate {
	return methodRate{ownerRate: newOwnerRate(string(l), r), limit: l, remote: remote}
}

func newAdmission(o *LoadOptions) admission {
	share := limit.Bounds{Calls: o.shareCalls(), Bytes: o.shareBytes()}
	subscriptions := newMethodRate(mcp.LimitSubscriptionRate, o.subscriptionRate(), true)
	whole := limit.Bounds{Calls: o.maxCalls(), Bytes: o.maxBytes()}
	gate := limit.NewGate[limit.Owner](whole, limit.Bounds{Calls: o.maxWaiting(), Bytes: o.maxBytes() / 4}, o.maxWait())
	running := limit.NewRunningCalls(whole)
	gate.Crowded, gate.Turn = running.MakeRoom, limit.Owner.Distinct
	return admission{
		gate:    gate,
		running: running,
		shares:  limit.NewShares[limit.Owner](share),
		share:   share,
		rates: map[string]methodRate{
			mcp.MethodToolsCall:          newMethodRate(mcp.LimitToolRate, o.toolRate(), true),
			mcp.MethodComplete:           newMethodRate(mcp.LimitCompletionRate, o.completionRate(), false),
			mcp.MethodResourcesSubscribe: subscriptions,
			mcp.MethodListen:             subscriptions,
		},
	}
}

// unmetered are the requests that take no slot: a subscription is long-lived and idle, and
// ping must be answered by a busy server, too.
var unmetered = map[string]bool{mcp.MethodListen: true, mcp.MethodPing: true}

// The times after which refused clients should try again: when their own limit is reached,
// and when that of the server is.
const (
	retryShare = time.Second
	retryWhole = 5 * time.Second
)

// admit acquires a slot for a request, for which it may wait, or refuses it. The caller has to
// release the slot (Request.endSlot).
func (s *Server) admit(r *Request) error {
	if err := r.checkRate(); err != nil {
		return err
	}
	if unmetered[r.method] {
		return nil
	}
	r.share = s.admission.shareOf(r.in)
	size := len(r.in.Message.Params)
	var err error
	if !s.admission.gate.TryEnter(r.share, size) {
		err = r.waitForPlace(r.ctx, s.admission.gate, r.share, size)
	}
	if err != nil {
		r.returnAnswer()
	}
	switch {
	case err == nil:
		r.running.Admitted = true
	case errors.Is(err, limit.ErrShare):
		s.reached(mcp.LimitCallsShare, r.in, r.method)
		return mcp.PeerRetryLaterf(mcp.CodeRateLimited, retryShare, "%s: too many of your requests are running; want some to end first", r.method)
	case errors.Is(err, limit.ErrWhole):
		s.reached(mcp.LimitCalls, r.in, r.method)
		return mcp.PeerRetryLaterf(mcp.CodeOverloaded, retryWhole, "%s: the server is overloaded; try again later", r.method)
	}
	return err
}

// shareOf returns the share of the sender of a request, or nil if the sender cannot be
// distinguished from others.
func (a *admission) shareOf(in *exchange.Inbound) *limit.Share {
	switch {
	case in.Principal().Authenticated():
		return a.shares.Of(in.Owner())
	case in.Session != nil:
		return in.Session.Share
	case in.Owner().IsKnown():
		return a.shares.Of(in.Owner())
	}
	return nil
}

// start registers a request before its handlers run, so that it can be ended to free its slot
// for the call of another owner. The caller must call finish once.
func (a *admission) start(r *Request) {
	a.running.Add(&r.running, (*evictable)(r))
}

// finish removes a request that start has registered, and returns its outcome. If the request
// was ended for another owner, the outcome is errMadeRoom, unless the handler has returned a
// result without isError.
func (a *admission) finish(r *Request, result any, err error) (any, error) {
	if !a.running.Remove(&r.running) {
		return result, err
	}
	r.server.reached(mcp.LimitCalls, r.in, r.method)
	if tool, ok := result.(*mcp.CallToolResult); err != nil || ok && tool.IsError {
		return nil, errMadeRoom
	}
	return result, err
}

// errMadeRoom is the error of a call that was ended for the call of another owner. It does not
// say when to try again, because the call may have had side effects.
var errMadeRoom = mcp.Errorf(mcp.CodeOverloaded, "ended to make room: the server is overloaded, and you have more running calls than others")

// evictable is a request that can be ended for the call of another owner.
type evictable Request

func (r *evictable) Owner() limit.Owner { return r.in.Owner() }

func (r *evictable) Size() int { return len(r.in.Message.Params) }

func (r *evictable) Evict() { r.handlers.Cancel(errMadeRoom) }

// checkRate refuses a request that exceeds the rate of its method, unless it answers a question.
func (r *Request) checkRate() error {
	rate, ok := r.server.admission.rates[r.method]
	if !ok || rate.buckets == nil || rate.remote && (r.in.HTTP.IsZero() || r.in.HTTP.OnLoopback()) {
		return nil
	}
	wait, ok := r.server.takeRate(&rate.ownerRate, r.in)
	if ok || r.answersQuestion() {
		return nil
	}
	r.ReportLimit(rate.limit)
	return mcp.PeerRetryLaterf(mcp.CodeRateLimited, wait, "%s: too many requests in a short time; want the next in %v", r.method, wait.Round(time.Millisecond))
}

// reached reports that a message has reached a limit.
func (s *Server) reached(l mcp.Limit, in *exchange.Inbound, method string) {
	s.limits.Reached(mcp.LimitReached{Limit: l, Principal: in.Principal(), Method: method})
}

// ReportLimit reports to Options.OnLimit and the log that the request has reached a
// limit, such as one of your own middleware. It does nothing when r is nil.
func (r *Request) ReportLimit(l mcp.Limit) {
	if r != nil {
		r.server.reached(l, r.in, r.method)
	}
}
