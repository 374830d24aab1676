package gateway

import (
	"context"
	"encoding/json/v2"
	"errors"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// record reports a decision with the text of an error as its reason, if there is one.
func (g *Gateway) record(d host.Decision, err error) {
	if err != nil {
		d.Reason = withDetails(err).Error()
	}
	d.Duration = time.Since(d.Time)
	g.options.notifyDecision(d)
}

// withRecord runs send for the caller of ctx and records the outcome before the caller gets
// it. A call that ends in a question is recorded after its last round.
func (u *upstream) withRecord(ctx context.Context, a host.Action, name string, send func(host.Decision) (mcp.Result, error)) (mcp.Result, error) {
	d := host.Decision{
		Time: mcpserver.StartedAt(ctx), Principal: mcpserver.From(ctx).Principal().String(),
		Upstream: u.Key, Action: a, Name: name,
	}
	result, err := send(d)
	if _, asks := result.(*mcp.InputRequiredResult); asks || errors.Is(err, mcpserver.ErrInputRequired) {
		return result, err
	}
	d.Outcome = outcomeOf(ctx, result, err)
	u.gateway.record(d, reasonOf(result, err))
	return result, err
}

func outcomeOf(ctx context.Context, result mcp.Result, err error) host.Outcome {
	called, _ := result.(*mcp.CallToolResult)
	switch {
	case isRefusalResult(result):
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
		d := host.Decision{Time: mcpserver.StartedAt(ctx), Principal: r.Principal().String(), Action: host.ActionCall}
		if u := g.byKey(host.KeyOf(called.Name)); u != nil {
			if d.Name, d.Outcome = u.hiddenTool(callerOf(r), called.Name); d.Name != "" {
				d.Upstream = u.Key
				g.record(d, err)
			}
		}
		return result, err
	}
}

// hiddenTool returns the upstream's name of the tool with the given wire name that is denied
// or withheld from a caller, and the outcome of its calls. The name is empty if there is no
// such tool.
func (u *upstream) hiddenTool(c caller, wire string) (name string, outcome host.Outcome) {
	if name, outcome = u.hiddenToolIn(u.lastCatalog(), wire); name != "" {
		return name, outcome
	}
	return u.hiddenCallerTool(c, wire)
}

// hiddenToolIn is hiddenTool for the tools of one catalog.
func (u *upstream) hiddenToolIn(cat *catalog, wire string) (name string, outcome host.Outcome) {
	for i := range cat.tools {
		t := &cat.tools[i]
		switch {
		case host.WireName(u.Key, t.Name) != wire:
		case u.Settings.Rules.Verdict(t) == host.Deny:
			return t.Name, host.OutcomeDenied
		case slices.ContainsFunc(cat.withheld, func(w host.Withheld) bool { return w.Tool == t.Name }):
			return t.Name, host.OutcomeWithheld
		}
	}
	return "", ""
}
