package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/registry"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// callTool handles tools/call. A malformed request is a protocol error; arguments that
// do not satisfy the schema are a result that the model can read.
//
// Spec: 2026-07-28 server/tools#calling-tools
func (s *Server) callTool(ctx context.Context, r *Request) (any, error) {
	snap := s.features.Snapshot()
	if !snap.Offers(registry.Tools) {
		return nil, undeclared(r.method)
	}
	p, err := r.call.ToolCall()
	if err != nil {
		return nil, err
	}
	t, ok := lookup[*tool](snap, r, registry.Tools, p.Name)
	if !ok {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "tool %q: unknown", cleanText(p.Name, 128))
	}
	if err := r.RequireScopes(t.Scopes...); err != nil {
		return nil, err
	}
	if p.Task != nil && s.takesTasks(r.call.Facts) && t.def.TaskSupport() == mcp.TaskForbidden {
		return nil, mcp.Errorf(mcp.CodeMethodNotFound, "tool %q: cannot be called as a task", p.Name)
	}
	if len(p.Arguments) == 0 {
		p.Arguments = jsontext.Value("{}")
	}
	if p.Arguments.Kind() != '{' {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "tool %q: arguments: want an object", p.Name)
	}
	if err := r.call.CheckParams(t.mirrors, p.Arguments); err != nil {
		return nil, err
	}
	if t.addMissing != nil {
		p.Arguments = t.addMissing(p.Arguments)
	}
	if !t.unchecked {
		if err := validate(t.input, "arguments", p.Arguments); err != nil {
			return s.toolError(ctx, r.call, p.Name, &badArguments{p.Name, err}), nil
		}
	}
	if r.resumed != nil && len(t.wraps) > 0 {
		p.InputResponseParams = r.call.InputResponses()
	}
	r.durable = t.durable
	return t.perform(ctx, &p)
}

// takesTasks reports whether the server has declared that calls of tools can be requested
// as tasks. If it has not, the request for a task is ignored.
//
// Spec: 2025-11-25 basic/utilities/tasks#tool-level-negotiation
func (s *Server) takesTasks(f *dialect.Facts) bool {
	return f.TaskSupport && s.capabilities(f).Tasks.Takes(mcp.MethodToolsCall)
}

// perform runs the handler of a tool, in the session era again for each round of raw
// questions, and returns the result of the call.
func (s *Server) perform(ctx context.Context, t *tool, p *mcp.CallToolParams) (result mcp.Result, err error) {
	defer usercode.Contain(&err)
	r, answers := From(ctx), &p.InputResponseParams
	if t.typed {
		answers = nil
	}
	result, err = r.runHandler(ctx, answers, func(ctx context.Context) (mcp.Result, error) { return s.runTool(ctx, t, p) })
	if err == nil {
		err = s.checkResult(ctx, t, result)
	}
	return s.outcome(ctx, r, t, result, err)
}

// runTool calls the handler within the limits of the tool. If the tool has a timeout, the
// handler runs on another goroutine, so that its caller gets a response in time.
func (s *Server) runTool(ctx context.Context, t *tool, p *mcp.CallToolParams) (mcp.Result, error) {
	if err := t.checkRate(ctx); err != nil {
		return nil, err
	}
	ctx, release, err := t.acquire(ctx)
	if err != nil {
		return nil, err
	}
	if err := From(ctx).resume(); err != nil {
		release()
		return nil, err
	}
	if t.timeout > 0 {
		return s.runWithTimeout(ctx, t, p, release)
	}
	defer release()
	return t.call(ctx, p)
}

// checkRate refuses a call that exceeds the rate of the tool, unless it answers a question. A call
// that is replayed was counted when it was made.
func (t *tool) checkRate(ctx context.Context) error {
	r := From(ctx)
	if t.rate.buckets == nil || r.replayed {
		return nil
	}
	wait, ok := r.server.takeRate(&t.rate, r.in)
	if ok || r.answersQuestion() {
		return nil
	}
	r.ReportLimit(mcp.LimitOneTool)
	return mcp.PeerRetryLaterf(mcp.CodeRateLimited, wait, "tool %q: called too often; want the next call in %v", t.def.Name, wait.Round(time.Millisecond))
}

// maxSlotWait is how long a call waits at most for a slot of its tool. Detached work waits
// until it is cancelled: the number of tasks has a limit, and nobody waits for a response.
const maxSlotWait = 30 * time.Second

// acquire waits for one of the tool's slots. The context that it returns is for the
// call that holds the slot.
func (t *tool) acquire(ctx context.Context) (_ context.Context, release func(), err error) {
	if t.slots == nil {
		return ctx, func() {}, nil
	}
	r := From(ctx)
	if r.detached != nil {
		err = t.slots.EnterKept(ctx, nil, 0, r.in.Owner())
	} else {
		err = r.waitForPlace(ctx, t.slots, nil, 0)
	}
	if errors.Is(err, limit.ErrWhole) {
		r.ReportLimit(mcp.LimitToolCalls)
		err = mcp.PeerRetryLaterf(mcp.CodeOverloaded, retryWhole, "tool %q: too many calls are running, yours has had no turn for %v; try again later", t.def.Name, maxSlotWait)
	}
	if err != nil {
		return nil, nil, err
	}
	slot := toolSlotLease(ctx, t.slots)
	return exchange.WithPausable(ctx, slot), slot.End, nil
}

// runWithTimeout calls the handler on a goroutine of its own, and waits for its result until
// the timeout. Earlier rounds of the call count towards the timeout; waiting for the client,
// and for a slot after that, does not. release is called when the handler returns, which is
// logged if it is after the timeout.
func (s *Server) runWithTimeout(ctx context.Context, t *tool, p *mcp.CallToolParams, release func()) (mcp.Result, error) {
	r := From(ctx)
	timed := exchange.NewTimeout(ctx, max(t.timeout-r.run.Running(), time.Millisecond), (*toolTimeoutError)(t))
	done, answered := make(chan handlerResult), make(chan struct{})
	started, left := time.Now(), timed.Left()
	begun := r.runningWork().Go(func() {
		defer timed.Stop()
		defer release()
		var out handlerResult
		func() {
			defer usercode.Contain(&out.err)
			out.result, out.err = t.call(timed, p)
		}()
		r.run.Spend(left - timed.Left())
		select {
		case done <- out:
		case <-answered:
			s.options.logger().LogAttrs(ctx, slog.LevelWarn, "tool returned after its call had ended",
				slog.String("tool", t.def.Name), slog.Duration("took", time.Since(started)), slog.Any("error", out.err))
		}
	})
	if !begun { // detached work that is over, on a server that has been shut down
		release()
		timed.Stop()
		return nil, ErrShutdown
	}
	select {
	case out := <-done:
		return out.result, out.err
	case <-timed.Done():
	}
	if errors.Is(context.Cause(timed), ErrInputRequired) { // it has asked, and is about to return
		late := time.NewTimer(max(timed.Left(), 0))
		defer late.Stop()
		select {
		case out := <-done:
			return out.result, out.err
		case <-late.C:
			r.run.Spend(left)
		}
	}
	close(answered)
	if errors.Is(timed.Err(), context.DeadlineExceeded) {
		r.ReportLimit(mcp.LimitToolTimeout)
	}
	return nil, context.Cause(timed)
}

// handlerResult is what the handler of a tool has returned.
type handlerResult struct {
	result mcp.Result
	err    error
}

// toolTimeoutError ends a call of a tool whose handler has not returned in time.
type toolTimeoutError tool

func (e *toolTimeoutError) Error() string {
	return fmt.Sprintf("tool %q: the handler ran longer than its timeout of %v", e.def.Name, e.timeout)
}

// outcome returns the outcome of a call for what the handler has returned. An error that is
// meant for the model becomes a result with isError.
func (s *Server) outcome(ctx context.Context, r *Request, t *tool, result mcp.Result, err error) (mcp.Result, error) {
	if err == nil {
		return t.withoutFailedOutput(r, withText(result)), nil
	}
	if _, ok := errors.AsType[*panicked](err); ok {
		return nil, err
	}
	if _, ok := errors.AsType[*badResult](err); ok {
		return nil, fmt.Errorf("tool %q: %w", t.def.Name, err)
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Remote {
		if e.Code != mcp.CodeMissingCapability || r.call.Facts.Numbers[e.Code] != 0 {
			return nil, err
		}
	}
	return s.toolError(ctx, r.call, t.def.Name, err), nil
}

// checkResult returns an error for a result with invalid content, or with structured content
// that is not valid under the tool's output schema. With Options.AllowInvalidResults the latter
// is only logged.
func (s *Server) checkResult(ctx context.Context, t *tool, r mcp.Result) error {
	if err := checkNotNil(r); err != nil {
		return err
	}
	result, ok := r.(*mcp.CallToolResult)
	if !ok || t.proxied {
		return nil
	}
	if err := checkMeta(result.Meta); err != nil {
		return &badResult{err}
	}
	for i, c := range result.Content {
		if err := checkContent(c); err != nil {
			return &badResult{fmt.Errorf("content %d: %w", i, err)}
		}
	}
	err := t.checkOutput(result)
	if err != nil && s.options.AllowInvalidResults {
		s.options.logger().LogAttrs(ctx, slog.LevelWarn, "invalid result of a tool sent", slog.String("tool", t.def.Name), slog.Any("error", err))
		return nil
	}
	return err
}

// checkOutput returns an error for a result that does not satisfy the tool's output schema.
func (t *tool) checkOutput(r *mcp.CallToolResult) error {
	if t.output == nil || r.IsError {
		return nil
	}
	if len(r.StructuredContent) == 0 {
		return &badResult{errors.New("no structured content, want some under its output schema")}
	}
	if err := t.output.Validate(r.StructuredContent); err != nil {
		return &badResult{fmt.Errorf("structured content: %w", err)}
	}
	return nil
}
