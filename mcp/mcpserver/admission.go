package mcpserver

import (
	"context"
	"errors"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// admission decides which requests begin: within the rates, then as soon as there is
// room for them.
type admission struct {
	gate    *limit.Gate[limit.Owner]
	running *limit.RunningCalls
	shares  *limit.Shares[limit.Owner] // of authenticated principals, and of connections without a session
	share   limit.Bounds               // of any session
	rates   map[string]methodRate
}

// methodRate is how often an owner may send requests of a method.
type methodRate struct {
	limit   mcp.Limit
	buckets *limit.Buckets[limit.Owner]
	// remote tells that it binds only those who come over HTTP and not over the
	// loopback interface.
	remote bool
}

func newAdmission(o *LoadOptions) admission {
	share := limit.Bounds{Calls: o.shareCalls(), Bytes: o.shareBytes()}
	subscriptions := methodRate{mcp.LimitSubscriptionRate, limit.NewBuckets[limit.Owner](o.subscriptionRate()), true}
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
			mcp.MethodToolsCall:          {mcp.LimitToolRate, limit.NewBuckets[limit.Owner](o.toolRate()), true},
			mcp.MethodComplete:           {mcp.LimitCompletionRate, limit.NewBuckets[limit.Owner](o.completionRate()), false},
			mcp.MethodResourcesSubscribe: subscriptions,
			mcp.MethodListen:             subscriptions,
		},
	}
}

// unmetered are the requests that take no place: a subscription lasts and costs nothing
// meanwhile, and a ping tells whether the server lives, also a full one.
var unmetered = map[string]bool{mcp.MethodListen: true, mcp.MethodPing: true}

// How long clients are asked to wait before they try again: for an end of their own
// calls, or of those of others.
const (
	retryShare = time.Second
	retryWhole = 5 * time.Second
)

// admit lets a request begin, maybe after it has waited for its turn, or refuses it. It
// returns the share that the request counts for; the request has to leave its place.
func (s *Server) admit(ctx context.Context, call *dialect.Call, in *exchange.Inbound) (*limit.Share, error) {
	if err := s.pace(call.Method, in); err != nil {
		return nil, err
	}
	if unmetered[call.Method] {
		return nil, nil
	}
	share := s.admission.shareOf(in)
	err := s.admission.gate.Enter(ctx, share, len(in.Message.Params), in.Owner)
	switch {
	case err == nil:
		return share, nil
	case errors.Is(err, limit.ErrShare):
		s.reached(mcp.LimitCallsShare, in, call.Method)
		return nil, mcp.RetryLaterf(mcp.CodeRateLimited, retryShare, "%s: too many of your requests are running; want some to end first", call.Method)
	case errors.Is(err, limit.ErrWhole):
		s.reached(mcp.LimitCalls, in, call.Method)
		return nil, mcp.RetryLaterf(mcp.CodeOverloaded, retryWhole, "%s: the server has too much to do; try again later", call.Method)
	}
	return nil, err
}

// shareOf returns the share of whoever sends a request, or nil for those who cannot
// be told apart.
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

// start notes that the handlers of a request run from now on, so that it can be ended
// for the call of another owner. It needs one finish.
func (a *admission) start(r *Request) {
	a.running.Add(&r.running, (*evictable)(r))
}

// finish ends start, and returns the outcome of a request: that of one that was ended
// to make room says so, unless it has a result all the same.
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

// errMadeRoom is the error of a call that was ended to make room. It does not say when
// to try again, since what has begun may have had effects.
var errMadeRoom = mcp.Errorf(mcp.CodeOverloaded, "ended to make room: the server has too much to do, and you have more running than others")

// evictable is a request that can be ended for the call of another owner.
type evictable Request

func (r *evictable) Owner() limit.Owner { return r.in.Owner() }

func (r *evictable) Size() int { return len(r.in.Message.Params) }

func (r *evictable) Evict() { r.handlers.Cancel(errMadeRoom) }

// pace refuses a request that comes too soon after others of its kind.
func (s *Server) pace(method string, in *exchange.Inbound) error {
	rate, ok := s.admission.rates[method]
	if !ok || rate.buckets == nil || rate.remote && (in.HTTP.IsZero() || in.HTTP.OnLoopback()) {
		return nil
	}
	wait, ok := rate.buckets.Take(in.Owner().Distinct())
	if ok {
		return nil
	}
	s.reached(rate.limit, in, method)
	return mcp.RetryLaterf(mcp.CodeRateLimited, wait, "%s: too many requests in a short time; want the next in %v", method, wait.Round(time.Millisecond))
}

// reached tells that a message has reached a limit.
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
