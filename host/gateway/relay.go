package gateway

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// stateOnlyPause is how long a caller of the session era waits, without knowing,
// for an upstream that asks nothing but to be called again.
const stateOnlyPause = 500 * time.Millisecond

// do is what is done at an upstream: one call of a tool, for instance.
type do func(context.Context, *mcpclient.Client, ...mcpclient.CallOption) (mcp.Result, error)

// relay does one call for the caller of ctx, over the line that serves it, and
// puts to the caller what the upstream asks meanwhile:
//
//	caller      upstream    a question
//	session     session     is a request to the caller
//	session     stateless   ends the call at the upstream; the server asks, and runs the handler again
//	stateless   session     ends the caller's round; the call is parked until the next
//	stateless   stateless   ends both; the upstream's state travels inside of ours
//
// What the caller has answered is in. When ctx ends, because the caller has
// cancelled or left, the upstream is told in the way of its era.
func (u *upstream) relay(ctx context.Context, d host.Decision, in mcp.InputResponseParams, what do) (mcp.Result, error) {
	r := mcpserver.From(ctx)
	var s state
	if err := s.open(in.RequestState); err != nil {
		return nil, err
	}
	there := func(c *call) (mcp.Result, error) { return u.serve(c, s, in.InputResponses, what) }
	if s.Parked != "" || r.Revision() == mcp.V20260728 && u.mayAsk(callerOf(r)) {
		return u.relayByRounds(ctx, r, d, s, in.InputResponses, there)
	}
	return there(direct(ctx, r))
}

// relayByRounds does a call whose caller cannot be asked in mid-call.
func (u *upstream) relayByRounds(ctx context.Context, r *mcpserver.Request, d host.Decision, s state, given map[string]jsontext.Value, there func(*call) (mcp.Result, error)) (mcp.Result, error) {
	var n *run
	park := func(key string, open func() (*run, error)) (err error) {
		n, err = mcpserver.Park(ctx, key, func(context.Context) (*run, error) { return open() }, func(n *run) { n.abandon(u, d) })
		return err
	}
	key := s.Parked
	if key == "" {
		n = begin(ctx, r, there)
	} else if err := park(key, func() (*run, error) { return nil, mcpserver.ErrParkLost }); err != nil {
		return nil, err
	}
	n.answer(inner(given))
	asks := n.await(ctx)
	if asks == nil {
		return n.result, n.err
	}
	if key == "" {
		key = fmt.Sprintf("call-%d", r.Round())
		begun := n
		if err := park(key, func() (*run, error) { return begun, nil }); err != nil {
			begun.end(err)
			return nil, err
		}
	}
	return state{Parked: key}.around(asks)
}

// serve does a call at the upstream, over the line that serves its caller.
func (u *upstream) serve(c *call, s state, given map[string]jsontext.Value, what do) (mcp.Result, error) {
	c.before, c.reached = s.Progress, s.Progress
	use, err := u.lease(c.ctx, callerOf(c.request), c)
	if err != nil {
		return nil, u.translate(c.request, err)
	}
	opts := c.passedOn(use)
	if s.Inner != nil || u.mayAsk(callerOf(c.request)) {
		opts = append(opts, mcpclient.ByHand())
		if use.stateless() && (s.Inner != nil || len(inner(given)) > 0) {
			opts = append(opts, mcpclient.WithInput(mcp.InputResponseParams{InputResponses: inner(given), RequestState: s.Inner}))
		}
	}
	result, err := what(c.ctx, use.client, opts...)
	if err == nil {
		if use.isFirst() && abilitiesOf(c.request).roots && !use.stateless() {
			time.Sleep(earlyGrace)
		}
		c.settle()
	}
	use.done(err)
	if asks, ok := errors.AsType[*mcpclient.InputRequiredError](err); ok {
		return u.askAgain(c, s, asks.Result)
	}
	u.visited(c.request, s.Visits)
	return result, u.translate(c.request, err)
}

// askAgain asks what an upstream of the stateless era does, in our words.
func (u *upstream) askAgain(c *call, before state, in *mcp.InputRequiredResult) (mcp.Result, error) {
	s := state{Inner: in.RequestState, Progress: c.reached}
	ours := &mcp.InputRequiredResult{InputRequests: make(map[string]mcp.InputRequest, len(in.InputRequests))}
	for key, q := range in.InputRequests {
		params, err := paramsOf(q)
		if err == nil {
			q, err = inputRequest(q.Method, asOurs(params))
		}
		if err != nil {
			return nil, fmt.Errorf("upstream %q: invalid response: input %.64q: %w", u.Key, key, err)
		}
		if p, ok := params.(*mcp.ElicitParams); ok && p.Mode == mcp.ElicitURL {
			s.Visits = append(s.Visits, p.URL)
		}
		ours.InputRequests[key] = q
	}
	u.visited(c.request, slices.DeleteFunc(before.Visits, func(v string) bool { return slices.Contains(s.Visits, v) }))
	if len(ours.InputRequests) == 0 && c.request.Revision() != mcp.V20260728 {
		select {
		case <-time.After(stateOnlyPause):
		case <-c.ctx.Done():
			return nil, context.Cause(c.ctx)
		}
	}
	return s.around(ours)
}

// visited tells a caller of the session era that it need not wait any longer for
// visits that the upstream has gone on from.
func (u *upstream) visited(r *mcpserver.Request, addresses []string) {
	session := r.Session()
	for _, address := range addresses {
		if session == nil {
			return
		}
		if err := u.gateway.server.Visited(session, address); err != nil {
			u.log.Info("caller does not hear of a visit", "error", err)
		}
	}
}

// state is what the host remembers of a call from one round to the next. It is
// sealed like every state of a handler.
type state struct {
	// Inner is the state of an upstream of the stateless era.
	Inner *string `json:"inner,omitzero"`
	// Parked is the key under which the call waits at one of the session era.
	Parked string `json:"parked,omitzero"`
	// Progress is how far the caller knows the call to be.
	Progress float64 `json:"progress,omitzero"`
	// Visits are the URLs that the user was sent to in the last round.
	Visits []string `json:"visits,omitzero"`
}

func (s *state) open(text *string) error {
	if text == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(*text), s); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}

// around returns questions under keys of ours, with the state.
func (s state) around(in *mcp.InputRequiredResult) (mcp.Result, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	out := &mcp.InputRequiredResult{RequestState: new(string(text))}
	for key, q := range in.InputRequests {
		if out.InputRequests == nil {
			out.InputRequests = make(map[string]mcp.InputRequest, len(in.InputRequests))
		}
		out.InputRequests[innerKey+key] = q
	}
	return out, nil
}

// innerKey begins the keys of questions that are not the host's own.
const innerKey = "upstream."

// inner returns the answers to questions of the upstream, under its own keys.
func inner(given map[string]jsontext.Value) map[string]jsontext.Value {
	answers := make(map[string]jsontext.Value, len(given))
	for key, raw := range given {
		if key, ok := strings.CutPrefix(key, innerKey); ok {
			answers[key] = raw
		}
	}
	return answers
}
