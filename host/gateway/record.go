package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/host/gateway/relay"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// notRecordedError is the error of a request that was not sent to its upstream, because it
// could not be recorded before. The caller sees its text.
type notRecordedError struct{ public *mcp.Error }

func (e *notRecordedError) Error() string { return e.public.Message }

func (e *notRecordedError) Unwrap() error { return e.public }

func isNotRecorded(err error) bool {
	_, ok := errors.AsType[*notRecordedError](err)
	return ok
}

// record records a decision with the text of an error as its reason, if there is one. A
// decision that cannot be recorded is logged.
func (g *Gateway) record(d host.Decision, err error) {
	if err != nil {
		d.Reason = relay.RecordedText(err)
	}
	d.Duration = time.Since(d.Time)
	if err := g.options.notifyDecision(d); err != nil {
		g.options.logger().Error("a decision was not recorded", "upstream", d.Upstream, "action", d.Action, "outcome", d.Outcome, "error", err)
	}
}

// recordIntent records that a request is about to be sent to the upstream, if it has to be
// recorded before. Its error means that the request must not be sent. The decision gets a
// call id, by which the outcome is recorded too.
func (u *upstream) recordIntent(d *host.Decision) error {
	if !u.gateway.options.records() || d.Call == "" {
		return nil
	}
	begun := *d
	begun.Outcome = host.OutcomeBegun
	if err := u.gateway.options.notifyDecision(begun); err != nil {
		incident := relay.NewIncident()
		u.log.Error("a call was refused, because it cannot be recorded", "incident", incident, "action", d.Action, "name", d.Name, "error", err)
		return &notRecordedError{mcp.Errorf(mcp.CodeInternal, "upstream %q: the host cannot write its audit log, so the request was not made (incident %s)", u.Key, incident)}
	}
	return nil
}

// callIDLength is the number of characters of the id of a call, which are of base 32.
const callIDLength = 16

// mustRecord makes recordIntent record the request, under the given id of its earlier
// rounds if there is one.
func mustRecord(d *host.Decision, id string) { d.Call = cmp.Or(id, rand.Text()[:callIDLength]) }

// decision returns a decision about a request of a caller, without its outcome.
func (g *Gateway) decision(r *mcpserver.Request, started time.Time, a host.Action) host.Decision {
	d := host.Decision{Time: started, Principal: r.Principal().String(), Action: a}
	if client, ok := r.Client(); ok {
		d.Client = host.ClientName(client.Name, client.Version)
	}
	if session := r.Session(); session != nil {
		d.Session = session.ID()
	}
	return d
}

// setArguments adds the arguments of a call to its decision.
func (u *upstream) setArguments(d *host.Decision, arguments jsontext.Value) {
	if !u.gateway.options.records() {
		return
	}
	d.Arguments = host.ArgumentsDigest(arguments)
	if u.Settings.AuditsArguments(d.Name) {
		d.ArgumentsText = arguments
	}
}

// withRecord runs send for the caller of ctx and records the outcome before the caller gets
// it. A call that ends in a question is recorded after its last round. send may change the
// decision.
func (u *upstream) withRecord(ctx context.Context, a host.Action, name string, send func(*host.Decision) (mcp.Result, error)) (mcp.Result, error) {
	var d host.Decision
	if u.gateway.options.records() {
		d = u.gateway.decision(mcpserver.From(ctx), mcpserver.StartedAt(ctx), a)
		d.Upstream, d.Name = u.Key, name
		if u.gateway.options.RecordFirst {
			mustRecord(&d, "")
		}
	}
	result, err := send(&d)
	if _, asks := result.(*mcp.InputRequiredResult); asks || errors.Is(err, mcpserver.ErrInputRequired) {
		return result, err
	}
	if u.gateway.options.records() {
		d.Outcome = outcomeOf(ctx, result, err)
		u.gateway.record(d, reasonOf(result, err))
	}
	return result, err
}

func outcomeOf(ctx context.Context, result mcp.Result, err error) host.Outcome {
	called, _ := result.(*mcp.CallToolResult)
	switch {
	case isRefusalResult(result), isNotRecorded(err):
		return host.OutcomeRefused
	case ctx.Err() != nil:
		return host.OutcomeCancelled
	case err != nil, called != nil && called.IsError:
		return host.OutcomeFailed
	}
	return host.OutcomeDone
}

// reasonOf returns why a request failed. The text of a tool's own error is not recorded.
func reasonOf(result mcp.Result, err error) error {
	if isRefusalResult(result) {
		return errors.New(result.(*mcp.CallToolResult).Content.Text())
	}
	return err
}

// recordHidden is middleware that records calls of tools that exist but are denied or
// withheld. The caller gets the same error as for an unknown tool.
func (g *Gateway) recordHidden(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		result, err := next(ctx, r)
		if err == nil || r.Method() != mcp.MethodToolsCall {
			return result, err
		}
		var called mcp.CallToolParams
		if json.Unmarshal(r.Params(), &called) != nil {
			return result, err
		}
		if u := g.byKey(host.KeyOf(called.Name)); u != nil {
			if name, outcome := u.source.View(link.CallerOf(r)).HiddenTool(called.Name); name != "" {
				d := g.decision(r, mcpserver.StartedAt(ctx), host.ActionCall)
				d.Upstream, d.Name, d.Outcome = u.Key, name, outcome
				u.setArguments(&d, called.Arguments)
				g.record(d, err)
			}
		}
		return result, err
	}
}
