package gateway

import (
	"context"
	"errors"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// call is one call of a caller at an upstream. The upstream can ask the caller until the
// call is closed.
type call struct {
	request *mcpserver.Request
	ctx     context.Context // of the call at the upstream
	// waits returns the context of the caller's current request, if the call outlives a
	// request. It may be nil.
	waits func() context.Context
	// silent says that the caller cannot be asked in the call.
	silent bool
	// ask sends a question to the caller and waits for the answer.
	ask func(ctx context.Context, method string, params, answer any) error
	// notify runs a function that sends a notification to the caller, at once or in the
	// caller's next round.
	notify func(func(context.Context))
	// progressBefore is the progress that the caller knows from earlier rounds, progress
	// the current one. Only the goroutine of the call uses them.
	progressBefore, progress float64

	mu            sync.Mutex
	openQuestions int           // guarded by mu: questions without an answer
	allAnswered   chan struct{} // guarded by mu: closed when openQuestions becomes zero
	closed        bool          // guarded by mu: no further question is accepted
}

// newDirectCall returns the call of a request that waits until the call is done.
// Questions are sent to the caller as requests.
func newDirectCall(ctx context.Context, r *mcpserver.Request) *call {
	return &call{
		request: r, ctx: ctx, ask: r.Call,
		notify: func(what func(context.Context)) { what(ctx) },
	}
}

// canShare reports whether two calls of callers without a session can share a connection on
// which questions and log messages do not name their call: none of them can be one for the
// wrong client, and at most one of the calls is one in which its client can be asked.
func (c *call) canShare(other *call) bool {
	if c.receivesNothing() && other.receivesNothing() {
		return true
	}
	from := requesterOf(c.request)
	return (c.silent || other.silent) && from.isKnown() && from == requesterOf(other.request)
}

// receivesNothing reports whether the client gets neither questions nor log messages during
// the call.
func (c *call) receivesNothing() bool {
	_, logs := c.request.LogLevel()
	return c.silent && !logs
}

// beginQuestion counts one more open question. It reports false if the call is closed.
func (c *call) beginQuestion() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.ctx.Err() != nil {
		return false
	}
	if c.openQuestions == 0 {
		c.allAnswered = make(chan struct{})
	}
	c.openQuestions++
	return true
}

// endQuestion counts one open question less.
func (c *call) endQuestion() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.openQuestions--; c.openQuestions == 0 {
		close(c.allAnswered)
	}
}

// waitAndClose waits for the open questions and then closes the call. A server may still
// wait for an answer after it has sent the reply of the call.
func (c *call) waitAndClose() {
	for {
		idle := c.tryClose()
		if idle == nil {
			return
		}
		select {
		case <-idle:
		case <-c.ctx.Done():
		}
	}
}

// tryClose closes the call. If questions are open it returns a channel to wait for
// instead.
func (c *call) tryClose() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.openQuestions > 0 && c.ctx.Err() == nil {
		return c.allAnswered
	}
	c.closed = true
	return nil
}

// givenUp reports whether the caller no longer waits for the call, nor will in another round.
func (c *call) givenUp() bool { return c.ctx.Err() != nil || c.waits != nil && c.waits().Err() != nil }

// mayStillRun reports whether the upstream may still work on a call that ended with err.
func (c *call) mayStillRun(err error) bool {
	return err != nil && (c.ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded))
}

// options are the options of the call at the upstream that relay what belongs to its
// caller: metadata to the upstream, progress and log messages to the caller.
func (c *call) options(l lease) []mcpclient.CallOption {
	opts := []mcpclient.CallOption{
		mcpclient.WithMeta(c.request.Meta()),
		mcpclient.WithProgress(c.progressFunc()),
	}
	level, wanted := c.request.LogLevel()
	if !wanted || !l.logsBelongToCall() {
		return opts
	}
	l.raiseLogLevel(c.ctx, level)
	return append(opts, mcpclient.WithLogLevel(level), mcpclient.WithLog(func(m *mcp.LoggingMessageParams) {
		c.notify(func(ctx context.Context) {
			_ = mcpserver.ForwardLog(ctx, m) // an invalid log message does not fail the call
		})
	}))
}

// progressFunc returns a function that relays progress to the caller. Progress must
// increase over all rounds of the caller, so an offset is added when the upstream starts
// again from zero.
func (c *call) progressFunc() func(mcp.ProgressParams) {
	first, offset := true, 0.0
	return func(p mcp.ProgressParams) {
		if first && p.Progress <= c.progressBefore {
			offset = c.progressBefore
		}
		first = false
		p.Progress += offset
		if p.Total > 0 {
			p.Total += offset
		}
		c.progress = max(c.progress, p.Progress)
		c.notify(func(ctx context.Context) { mcpserver.Progress(ctx, p.Progress, p.Total, p.Message) })
	}
}
