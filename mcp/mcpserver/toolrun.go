package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

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
// gives its slot to others, in both eras, and goes before new calls when it has its
// answer. It panics when n is not positive.
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

// pace refuses a call that comes too soon.
func (t *tool) pace(ctx context.Context) error {
	wait, ok := t.bucket.Take()
	if ok {
		return nil
	}
	From(ctx).Reached(mcp.LimitOneTool)
	return mcp.RetryLaterf(mcp.CodeRateLimited, wait, "tool %q: called too often; want the next call in %v", t.def.Name, wait.Round(time.Millisecond))
}

// run calls the handler: on this goroutine, or apart when the tool has a
// timeout, so that its caller can be answered in time.
func (s *Server) run(ctx context.Context, t *tool, p *mcp.CallToolParams) (mcp.Result, error) {
	if err := t.pace(ctx); err != nil {
		return nil, err
	}
	if t.timeout > 0 {
		return s.runApart(ctx, t, p)
	}
	ctx, release, err := t.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return t.call(ctx, p)
}

// acquire waits for one of the tool's slots. The context that it returns is for the
// call that holds the slot.
func (t *tool) acquire(ctx context.Context) (_ context.Context, release func(), err error) {
	if t.slots == nil {
		return ctx, func() {}, nil
	}
	if err := t.slots.Acquire(ctx); err != nil {
		return nil, nil, err
	}
	slot := slotLease(ctx, t.slots)
	return exchange.WithClock(ctx, slot), slot.End, nil
}

// lateError ends a call of a tool that has not answered in time.
type lateError struct{ of *tool }

func (e *lateError) Error() string {
	return fmt.Sprintf("tool %q: no answer within %v", e.of.def.Name, e.of.timeout)
}

// ran is what a handler that ran apart has returned.
type ran struct {
	result mcp.Result
	err    error
}

// runApart calls the handler on a goroutine of its own and waits for its turn and
// for its result no longer than the timeout. A handler that returns later is
// logged.
func (s *Server) runApart(ctx context.Context, t *tool, p *mcp.CallToolParams) (mcp.Result, error) {
	r := From(ctx)
	left := max(t.timeout-r.run.Running(), time.Millisecond)
	ctx, cancel := exchange.WithTimeout(ctx, left, &lateError{t})
	ctx, release, err := t.acquire(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	done, answered := make(chan ran), make(chan struct{})
	started := time.Now()
	s.drain.apart(func() {
		defer cancel()
		defer release()
		var out ran
		func() {
			defer contain(&out.err)
			out.result, out.err = t.call(ctx, p)
		}()
		select {
		case done <- out:
		case <-answered:
			s.options.logger().LogAttrs(ctx, slog.LevelWarn, "tool returned after its call had ended",
				slog.String("tool", t.def.Name), slog.Duration("took", time.Since(started)), slog.Any("error", out.err))
		}
	})
	select {
	case out := <-done:
		if r.replays {
			r.run.Spend(time.Since(started))
		}
		return out.result, out.err
	case <-ctx.Done():
	}
	if errors.Is(context.Cause(ctx), ErrInputRequired) { // it has asked, and is about to return
		late := time.NewTimer(left - min(time.Since(started), left))
		defer late.Stop()
		select {
		case out := <-done:
			r.run.Spend(time.Since(started))
			return out.result, out.err
		case <-late.C:
			r.run.Spend(time.Since(started))
		}
	}
	close(answered)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.Reached(mcp.LimitToolTimeout)
	}
	return nil, context.Cause(ctx)
}
