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

// record tells of a decision that was made for the reason of an error, if any.
func (g *Gateway) record(d host.Decision, err error) {
	if err != nil {
		d.Reason = err.Error()
	}
	d.Took = time.Since(d.Time)
	g.options.decided(d)
}

// recorded does something for the caller of ctx, and records what became of it
// before the caller knows. A call that asks is recorded once it is answered.
func (u *upstream) recorded(ctx context.Context, a host.Action, name string, do func(host.Decision) (mcp.Result, error)) (mcp.Result, error) {
	d := host.Decision{
		Time: mcpserver.Began(ctx), Principal: mcpserver.From(ctx).Principal().String(),
		Upstream: u.Key, Action: a, Name: name,
	}
	result, err := do(d)
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
	case isRefusal(result):
		return host.OutcomeRefused
	case ctx.Err() != nil:
		return host.OutcomeCancelled
	case err != nil, called != nil && called.IsError:
		return host.OutcomeFailed
	}
	return host.OutcomeDone
}

// reasonOf returns why something came to nothing. What a tool says of that is
// between it and its caller.
func reasonOf(result mcp.Result, err error) error {
	if isRefusal(result) {
		return errors.New(result.(*mcp.CallToolResult).Content.Text())
	}
	return err
}

// recordHidden is middleware that records calls of tools that are there and may
// not be called. Their caller learns no more than that of a tool that is unknown.
func (g *Gateway) recordHidden(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		result, err := next(ctx, r)
		if err == nil || r.Method != mcp.MethodToolsCall {
			return result, err
		}
		var called mcp.CallToolParams
		if json.Unmarshal(r.Params, &called) != nil {
			return result, err
		}
		d := host.Decision{Time: mcpserver.Began(ctx), Principal: r.Principal().String(), Action: host.ActionCall}
		if u := g.named(host.KeyOf(called.Name)); u != nil {
			if d.Name, d.Outcome = u.hidden(called.Name); d.Name != "" {
				d.Upstream = u.Key
				g.record(d, err)
			}
		}
		return result, err
	}
}

// hidden returns the name of the tool that clients do not see under a wire name,
// and why they do not, or the empty string when there is none.
func (u *upstream) hidden(wire string) (name string, outcome host.Outcome) {
	cat := u.listed()
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
