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
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// stateOnlyPause delays a call of the session era when its upstream returns state without
// questions, which means "call again later".
const stateOnlyPause = 500 * time.Millisecond

// sendFunc sends one request to an upstream, for instance a call of a tool.
type sendFunc func(context.Context, *mcpclient.Client, ...mcpclient.CallOption) (mcp.Result, error)

// relay sends one request for the caller of ctx over the connection that serves the
// caller, and relays the questions of the upstream:
//
//	caller      upstream    a question
//	session     session     is a request to the caller
//	session     stateless   ends the request at the upstream; mcpserver asks and runs the handler again
//	stateless   session     ends the caller's round; the request at the upstream is parked until the next
//	stateless   stateless   ends both; the host's state contains the state of the upstream
//
// in holds the answers of the caller. If on is not nil, the request is sent over that connection. When
// ctx ends, the request is cancelled at the upstream.
func (u *upstream) relay(ctx context.Context, d *host.Decision, in mcp.InputResponseParams, on *link.Conn, do sendFunc) (mcp.Result, error) {
	var s relayState
	if err := s.decode(in.RequestState); err != nil {
		return nil, err
	}
	return u.relayFrom(ctx, d, s, in.InputResponses, on, do)
}

// relayFrom is relay with the state of the call and the answers of its caller.
func (u *upstream) relayFrom(ctx context.Context, d *host.Decision, s relayState, answers map[string]jsontext.Value, on *link.Conn, do sendFunc) (mcp.Result, error) {
	if s.Upstream != "" && s.Upstream != u.Key {
		return nil, mcpserver.ErrParkLost // the URI leads to another upstream by now
	}
	r := mcpserver.From(ctx)
	if d.Call != "" {
		mustRecord(d, s.Call)
		s.Call = d.Call
	}
	if s.Parked == "" { // otherwise the request was recorded when it was sent
		if err := u.recordIntent(d); err != nil {
			return nil, err
		}
	}
	send := func(c *call) (mcp.Result, error) { return u.callUpstream(c, s, answers, on, do) }
	if s.Parked != "" || r.Revision() == mcp.V20260728 && u.pool.CanAskCaller(link.CallerOf(r)) {
		return u.relayInRounds(ctx, r, *d, s, answers, send)
	}
	return send(newDirectCall(ctx, r))
}

// relayInRounds relays a request whose caller can be asked only between rounds.
func (u *upstream) relayInRounds(ctx context.Context, r *mcpserver.Request, d host.Decision, s relayState, answers map[string]jsontext.Value, send func(*call) (mcp.Result, error)) (mcp.Result, error) {
	var parked *parkedCall
	park := func(key string, open func() (*parkedCall, error)) (err error) {
		parked, err = mcpserver.Park(ctx, key, func(context.Context) (*parkedCall, error) { return open() }, func(parked *parkedCall) { parked.abandon(u, d) })
		return err
	}
	key := s.Parked
	if key == "" {
		parked = startParkedCall(ctx, r, send)
	} else if err := park(key, func() (*parkedCall, error) { return nil, mcpserver.ErrParkLost }); err != nil {
		return nil, err
	}
	parked.deliverAnswers(upstreamAnswers(answers))
	input := parked.wait(ctx)
	if input == nil {
		return parked.result, parked.err
	}
	if key == "" {
		key = fmt.Sprintf("call-%d", r.Round())
		started := parked
		if err := park(key, func() (*parkedCall, error) { return started, nil }); err != nil {
			started.cancelAndWait(err)
			return nil, err
		}
	}
	return relayState{Upstream: u.Key, Parked: key, Call: s.Call, Consent: u.gateway.nextRound(s.Consent)}.wrap(input)
}

// lease returns a lease of the connection that serves the caller of a call, or of the given one.
func (u *upstream) lease(c *call, on *link.Conn) (link.Lease, error) {
	return u.pool.Lease(c.Context, link.Use{Caller: link.CallerOf(c.Request), Owner: c.Request.Owner(), Call: &c.Call, On: on})
}

// callUpstream sends a request over the connection that serves its link.Caller, or over the given
// one.
func (u *upstream) callUpstream(c *call, s relayState, answers map[string]jsontext.Value, on *link.Conn, do sendFunc) (mcp.Result, error) {
	c.progressBefore, c.progress = s.Progress, s.Progress
	l, err := u.lease(c, on)
	if err != nil {
		u.recordCall(c.Context, err)
		return nil, u.translateError(c.Request, err)
	}
	opts := c.options(l)
	if s.UpstreamState != nil || u.pool.CanAskCaller(link.CallerOf(c.Request)) {
		opts = append(opts, mcpclient.ManualInput())
		if l.Stateless() && (s.UpstreamState != nil || len(upstreamAnswers(answers)) > 0) {
			opts = append(opts, mcpclient.WithInput(mcp.InputResponseParams{InputResponses: upstreamAnswers(answers), RequestState: s.UpstreamState}))
		}
	}
	result, err := do(c.Context, l.Client, opts...)
	if err == nil {
		if l.IsFirstCall() && link.CapabilitiesOf(c.Request).Roots && !l.Stateless() {
			time.Sleep(rootsGrace)
		}
		c.WaitAndClose()
	}
	err = l.EndError(err)
	u.recordCall(c.Context, err)
	l.Release(err)
	if required, ok := errors.AsType[*mcpclient.InputRequiredError](err); ok {
		return u.questionsResult(c, s, required.Result)
	}
	u.completeURLs(c.Request, s.URLs)
	return result, u.translateError(c.Request, err)
}

// questionsResult returns the questions of an upstream of the stateless era as a result
// of the host.
func (u *upstream) questionsResult(c *call, before relayState, in *mcp.InputRequiredResult) (mcp.Result, error) {
	s := relayState{Upstream: u.Key, UpstreamState: in.RequestState, Progress: c.progress, Call: before.Call, Consent: u.gateway.nextRound(before.Consent)}
	ours := &mcp.InputRequiredResult{InputRequests: make(map[string]mcp.InputRequest, len(in.InputRequests))}
	for key, q := range in.InputRequests {
		params, err := q.DecodeParams()
		if err == nil {
			params, err = u.relayedQuestion(q.Method, params)
		}
		if refused, ok := errors.AsType[*mcp.Error](err); ok && !refused.Remote {
			return nil, refused
		}
		if err == nil {
			q, err = inputRequest(q.Method, params)
		}
		if err != nil {
			return nil, fmt.Errorf("upstream %q: invalid response: input %.64q: %w", u.Key, key, err)
		}
		if p, ok := params.(*mcp.ElicitParams); ok && p.Mode == mcp.ElicitURL {
			s.URLs = append(s.URLs, p.URL)
		}
		ours.InputRequests[key] = q
	}
	u.completeURLs(c.Request, slices.DeleteFunc(before.URLs, func(v string) bool { return slices.Contains(s.URLs, v) }))
	if len(ours.InputRequests) == 0 && c.Request.Revision() != mcp.V20260728 {
		select {
		case <-time.After(stateOnlyPause):
		case <-c.Context.Done():
			return nil, context.Cause(c.Context)
		}
	}
	return s.wrap(ours)
}

// completeURLs tells a caller of the session era that URL elicitations are complete,
// because the upstream has continued.
func (u *upstream) completeURLs(r *mcpserver.Request, addresses []string) {
	session := r.Session()
	for _, address := range addresses {
		if session == nil {
			return
		}
		u.completeURL(session.Context(), session, address)
	}
}

// relayState is the state of a call between two rounds. It is sealed like the state of
// every handler.
type relayState struct {
	// Upstream is the key of the upstream, which alone gets its state and the answers.
	Upstream string `json:"upstream"`
	// UpstreamState is the state of an upstream of the stateless era.
	UpstreamState *string `json:"inner,omitzero"`
	// Parked is the key of the parked call at an upstream of the session era.
	Parked string `json:"parked,omitzero"`
	// Progress is the progress that the caller knows.
	Progress float64 `json:"progress,omitzero"`
	// Call is the id under which the rounds of the call are recorded.
	Call string `json:"call,omitzero"`
	// Consent is who has consented to the call, if that was needed.
	Consent *consentState `json:"consent,omitzero"`
	// URLs are those of the URL elicitations of the last round.
	URLs []string `json:"visits,omitzero"`
}

func (s *relayState) decode(text *string) error {
	if text == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(*text), s); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}

// wrap returns a result with the questions under prefixed keys, and with the state.
func (s relayState) wrap(in *mcp.InputRequiredResult) (mcp.Result, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	out := &mcp.InputRequiredResult{RequestState: new(string(text))}
	for key, q := range in.InputRequests {
		if out.InputRequests == nil {
			out.InputRequests = make(map[string]mcp.InputRequest, len(in.InputRequests))
		}
		out.InputRequests[upstreamPrefix+key] = q
	}
	return out, nil
}

// upstreamPrefix distinguishes the keys of an upstream's questions from the host's own.
const upstreamPrefix = "upstream."

// upstreamAnswers returns the answers to the upstream's questions under the upstream's
// keys.
func upstreamAnswers(given map[string]jsontext.Value) map[string]jsontext.Value {
	answers := make(map[string]jsontext.Value, len(given))
	for key, raw := range given {
		if key, ok := strings.CutPrefix(key, upstreamPrefix); ok {
			answers[key] = raw
		}
	}
	return answers
}
