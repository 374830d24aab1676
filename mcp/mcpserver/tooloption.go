package mcpserver

import (
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// ReadOnly is the option that tells clients that a tool changes nothing
// (readOnlyHint).
func ReadOnly() ToolOption {
	return hint(func(a *mcp.ToolAnnotations) { a.ReadOnlyHint = new(true) })
}

// NonDestructive is the option that tells clients that a tool only adds and destroys
// nothing (destructiveHint is false). Without it they have to assume that it destroys.
func NonDestructive() ToolOption {
	return hint(func(a *mcp.ToolAnnotations) { a.DestructiveHint = new(false) })
}

// Idempotent is the option that tells clients that calling a tool again with the
// same arguments has no further effect (idempotentHint).
func Idempotent() ToolOption {
	return hint(func(a *mcp.ToolAnnotations) { a.IdempotentHint = new(true) })
}

// ClosedWorld is the option that tells clients that a tool deals with a closed
// set of things only, and not with the open world (openWorldHint is false).
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

// Define is the option that changes the definition of a tool, such as its title,
// icons or metadata, before it is checked.
func Define(change func(*mcp.Tool)) ToolOption { return define(change) }

type define func(*mcp.Tool)

func (d define) tool(t *tool) { d(&t.def) }

// Wrap is the option that wraps the calls of one tool. next does a whole call,
// with everything that the other options of the tool ask for: its result may be
// sent, and its error is one of the protocol or a private one. Arguments are valid
// by then. The first option is the outermost.
func Wrap(wrap func(next ToolHandler) ToolHandler) ToolOption { return wrapper(wrap) }

type wrapper func(ToolHandler) ToolHandler

func (w wrapper) tool(t *tool) { t.wraps = append(t.wraps, w) }

// ToolOptions is the option that applies several, in their order.
func ToolOptions(opts ...ToolOption) ToolOption { return toolOptions(opts) }

type toolOptions []ToolOption

func (all toolOptions) tool(t *tool) {
	for _, o := range all {
		o.tool(t)
	}
}

// Timeout is the option that answers calls of a tool after d, when the handler
// has not returned by then. The handler's context ends; a handler that goes on
// all the same keeps its slot under Limit until it returns, and is logged. The time
// stands still while the call waits for its client, in both eras: what counts is how
// long the handler runs, in all rounds of the call together. The context has no
// Deadline, because that moves.
// It panics when d is not positive.
func Timeout(d time.Duration) ToolOption {
	if d <= 0 {
		panic(fmt.Sprintf("mcpserver.Timeout: %v: want more than 0", d))
	}
	return timeout(d)
}

type timeout time.Duration

func (d timeout) tool(t *tool) { t.timeout = time.Duration(d) }

// Limit is the option that lets at most n calls of a tool run at once. Others
// wait for their turn as long as their callers do. A call that waits for its client
// gives its slot to others, in both eras. In the session era it goes before new calls
// when it has its answer; in the stateless era the retry with the answer is a new call.
// A call waits while one of its goroutines does, so the others run without the slot. It
// panics when n is not positive.
func Limit(n int) ToolOption {
	if n < 1 {
		panic(fmt.Sprintf("mcpserver.Limit: %d: want at least 1", n))
	}
	return concurrency(n)
}

type concurrency int

func (n concurrency) tool(t *tool) { t.slots = limit.NewSlots(int(n)) }

// Rate is the option that lets a tool be called burst times at once, and then
// perSecond times a second, by all callers together and counting each round of a call
// that asks. Other calls are refused with an error of mcp.CodeRateLimited, which says
// when to try again. It panics when one of them is not positive.
func Rate(perSecond float64, burst int) ToolOption {
	if !(perSecond > 0) || burst < 1 {
		panic(fmt.Sprintf("mcpserver.Rate: %v a second, %d at once: want more than 0, and at least 1", perSecond, burst))
	}
	return toolRate{PerSecond: perSecond, Burst: burst}
}

type toolRate mcp.Rate

func (r toolRate) tool(t *tool) { t.bucket = limit.NewBucket(mcp.Rate(r)) }
