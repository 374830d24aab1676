package relay

import (
	"context"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// call is one call of a caller at an upstream, with what is relayed to the caller during it.
type call struct {
	link.Call
	deadline deadline
	// notify runs a function that sends a notification to the caller, at once or in the
	// caller's next round.
	notify   func(func(context.Context))
	progress callerProgress
	parked   *parkedCall // or nil, if the request waits until the call is done
}

// newDirectCall returns the call of a request that waits until the call is done.
// Questions are sent to the caller as requests. end ends ctx.
func newDirectCall(ctx context.Context, end context.CancelCauseFunc, r *mcpserver.Request) *call {
	c := &call{
		deadline: deadline{ctx: ctx, end: end},
		Call:     link.Call{CallParams: link.CallParams{Request: r, Context: ctx, Ask: r.Call}},
		notify:   func(what func(context.Context)) { what(ctx) },
	}
	c.Person = c
	return c
}

// newSilentCall returns the call of a request in which nobody can be asked.
func newSilentCall(ctx context.Context, end context.CancelCauseFunc, r *mcpserver.Request) *call {
	c := newDirectCall(ctx, end, r)
	c.Silent, c.Person = true, nil
	return c
}

// options are the options of the call at the upstream that relay what belongs to its
// caller: metadata to the upstream, progress and log messages to the caller.
func (c *call) options(l link.Lease) []mcpclient.CallOption {
	opts := []mcpclient.CallOption{
		mcpclient.WithMeta(callerMeta(c.Request)),
		mcpclient.WithProgress(c.relayProgress),
	}
	level, wanted := c.Request.LogLevel()
	if !wanted || !l.LogsBelongToCall() {
		return opts
	}
	l.RaiseLogLevel(c.Context, level)
	return append(opts, mcpclient.WithLogLevel(level), mcpclient.WithLog(func(m *mcp.LoggingMessageParams) {
		c.deadline.heard()
		c.notify(func(ctx context.Context) {
			_ = mcpserver.ForwardLog(ctx, m) // an invalid log message does not fail the call
		})
	}))
}

// relayProgress relays progress of the upstream to the caller.
func (c *call) relayProgress(p mcp.ProgressParams) {
	c.deadline.progressed()
	p = c.progress.next(p)
	c.notify(func(ctx context.Context) { mcpserver.Progress(ctx, p.Progress, p.Total, p.Message) })
}
