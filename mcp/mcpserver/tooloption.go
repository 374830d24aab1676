package mcpserver

import (
	"fmt"
	"math"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// ReadOnly is the option that declares that a tool does not modify its environment
// (readOnlyHint).
func ReadOnly() ToolOption {
	return hint(func(a *mcp.ToolAnnotations) { a.ReadOnlyHint = new(true) })
}

// NonDestructive is the option that declares that a tool only makes additive changes
// (destructiveHint is false). Without it clients have to assume destructive changes.
func NonDestructive() ToolOption {
	return hint(func(a *mcp.ToolAnnotations) { a.DestructiveHint = new(false) })
}

// Idempotent is the option that declares that another call of a tool with the same
// arguments has no additional effect (idempotentHint).
func Idempotent() ToolOption {
	return hint(func(a *mcp.ToolAnnotations) { a.IdempotentHint = new(true) })
}

// ClosedWorld is the option that declares that a tool interacts only with a closed set
// of entities, and not with an open world such as the web (openWorldHint is false).
func ClosedWorld() ToolOption {
	return hint(func(a *mcp.ToolAnnotations) { a.OpenWorldHint = new(false) })
}

// hint changes the annotations of a tool.
type hint func(*mcp.ToolAnnotations)

func (h hint) tool(t *tool) {
	a := new(mcp.ToolAnnotations)
	if t.def.Annotations != nil {
		*a = *t.def.Annotations
	}
	h(a)
	t.def.Annotations = a
}

// Define is the option that calls change with the definition of a tool, before the
// definition is checked and copied. Registration fails if change panics. Define panics when
// change is nil.
func Define(change func(*mcp.Tool)) ToolOption {
	if change == nil {
		panic("mcpserver.Define: the function is nil; leave the option out")
	}
	return define(change)
}

type define func(*mcp.Tool)

func (d define) tool(t *tool) { d(&t.def) }

// Wrap is the option that wraps the calls of one tool. next performs a whole call with the
// limits of the other options. It gets valid arguments and returns the result to send,
// also for an error that is meant for the model; its own error is a protocol error or a
// private one. The first Wrap is the outermost. wrap is called once, at registration,
// which fails if wrap panics or returns nil. Wrap panics when wrap is nil.
func Wrap(wrap func(next ToolHandler) ToolHandler) ToolOption {
	if wrap == nil {
		panic("mcpserver.Wrap: the function is nil; leave the option out")
	}
	return wrapper(wrap)
}

type wrapper func(ToolHandler) ToolHandler

func (w wrapper) tool(t *tool) { t.wraps = append(t.wraps, w) }

// AllowInvalidArguments is the option that calls the handler also with arguments that are not
// valid under the input schema of the tool. They are an object in any case. It is for handlers
// that validate their arguments themselves, and answer with messages of their own. Clients see
// the same schema. Registration fails if the handler has typed arguments, which are decoded by
// their schema.
func AllowInvalidArguments() ToolOption { return allowInvalidArguments{} }

type allowInvalidArguments struct{}

func (allowInvalidArguments) tool(t *tool) { t.unchecked = true }

// ToolOptions is the option that applies several options in their order. It panics when one
// of them is nil.
func ToolOptions(opts ...ToolOption) ToolOption {
	for i, o := range opts {
		if o == nil {
			panic(fmt.Sprintf("mcpserver.ToolOptions: option %d is nil; leave it out", i+1))
		}
	}
	return toolOptions(opts)
}

type toolOptions []ToolOption

func (all toolOptions) tool(t *tool) {
	for _, o := range all {
		o.tool(t)
	}
}

// Timeout is the option that limits how long the handler of a call may run. After d the
// call fails and the context of the handler ends. A handler that does not return then keeps
// its slot (see [Limit]) until it returns, which is logged. Only the time in which the
// handler runs counts, in both eras: in all rounds of the call together, and not the time in
// which the call waits for its client or for a slot. The context has therefore no Deadline.
// In the stateless era each round runs the handler from the top, so that work before a
// question counts again in each round, unless it is in a [Once]. Timeout panics when d is
// not positive.
func Timeout(d time.Duration) ToolOption {
	if d <= 0 {
		panic(fmt.Sprintf("mcpserver.Timeout: %v: want more than 0", d))
	}
	return timeout(d)
}

type timeout time.Duration

func (d timeout) tool(t *tool) { t.timeout = time.Duration(d) }

// Limit is the option that limits the calls of a tool that run at once to n. Other calls
// wait for a slot for up to 30 seconds, and are then refused with an error of
// mcp.CodeOverloaded that says when to try again. Owners take turns, as
// with [LoadOptions]: however many calls of one client wait, one call of each other client
// is admitted between two of them. While calls wait, LoadOptions limits their number. A call that runs as a task
// waits until a slot is free or the task is cancelled.
//
// A call releases its slot while it waits for its client, in both eras. A call that has its
// answer waits for a slot until its caller cancels it: in the session era before new calls, in
// the stateless era before new calls of its owner (see AskOptions.OwnerQuestions). A call counts as
// waiting while any of its goroutines waits for the client; its other goroutines continue
// without the slot. Limit panics when n is not positive.
func Limit(n int) ToolOption {
	if n < 1 {
		panic(fmt.Sprintf("mcpserver.Limit: %d: want at least 1", n))
	}
	return concurrency(n)
}

type concurrency int

func (n concurrency) tool(t *tool) {
	whole, waiting := limit.Bounds{Calls: int(n)}, limit.Bounds{Calls: math.MaxInt}
	t.slots = limit.NewGate[limit.Owner](whole, waiting, maxSlotWait)
	t.slots.Turn = limit.Owner.Distinct
}

// Rate is the option that limits how often each owner calls a tool: burst calls at once, then
// perSecond calls a second. An owner is an authenticated principal, or else an address, or on
// the loopback interface and over other connections a session or connection (see
// [LoadOptions]). With LoadOptions.SharedRates, the rate of an authenticated principal holds
// over all replicas, where tools of one name count together. Each round of a call counts. Calls
// beyond that are refused with an error of mcp.CodeRateLimited that says when to try again,
// except for those that answer a question.
// [Limit] limits the calls of all owners together. Rate panics when an argument is not positive.
func Rate(perSecond float64, burst int) ToolOption {
	if !(perSecond > 0) || burst < 1 {
		panic(fmt.Sprintf("mcpserver.Rate: %v a second, %d at once: want more than 0, and at least 1", perSecond, burst))
	}
	return toolRate{PerSecond: perSecond, Burst: burst}
}

type toolRate mcp.Rate

func (r toolRate) tool(t *tool) {
	t.rate = newOwnerRate(string(mcp.LimitOneTool)+"."+t.def.Name, mcp.Rate(r))
}
