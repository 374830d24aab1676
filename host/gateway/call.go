package gateway

import (
	"context"
	"errors"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// call is one call of a caller at an upstream. The caller can be asked as long as
// it is under way.
type call struct {
	request *mcpserver.Request
	ctx     context.Context // of the call at the upstream
	// put puts a question to the caller and waits for the answer.
	put func(ctx context.Context, method string, params, answer any) error
	// tell has something told to the caller, now or when there is somebody to hear.
	tell func(func(context.Context))
	// before is how far the caller knows it to be from earlier rounds, and reached
	// how far it is. The goroutine of the call alone uses them.
	before, reached float64

	mu   sync.Mutex
	open int           // guarded by mu: questions without an answer
	idle chan struct{} // guarded by mu: closed when there are none any more
	over bool          // guarded by mu: nothing can be asked any more
}

// direct returns the call of a request that lasts as long as the call, and is
// asked by requests of its own.
func direct(ctx context.Context, r *mcpserver.Request) *call {
	return &call{
		request: r, ctx: ctx, put: r.Ask,
		tell: func(what func(context.Context)) { what(ctx) },
	}
}

// asks notes that there is one more question, unless the call is over.
func (c *call) asks() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.ctx.Err() != nil {
		return false
	}
	if c.open == 0 {
		c.idle = make(chan struct{})
	}
	c.open++
	return true
}

// answered notes that there is one question less.
func (c *call) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open--; c.open == 0 {
		close(c.idle)
	}
}

// settle waits for what is still to be answered, and lets nothing be asked any
// more. A server may go on with what it has asked in a call after its reply.
func (c *call) settle() {
	for {
		idle := c.finish()
		if idle == nil {
			return
		}
		select {
		case <-idle:
		case <-c.ctx.Done():
		}
	}
}

// finish makes the call over, unless there is something to wait for first.
func (c *call) finish() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open > 0 && c.ctx.Err() == nil {
		return c.idle
	}
	c.over = true
	return nil
}

// givenUp reports whether a call that came to an error may still be under way at
// the upstream.
func (c *call) givenUp(err error) bool {
	return err != nil && (c.ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded))
}

// passedOn are the options of the call that carry what belongs to its caller:
// metadata on the way up, progress and log messages on the way down.
func (c *call) passedOn(use lease) []mcpclient.CallOption {
	opts := []mcpclient.CallOption{
		mcpclient.WithMeta(c.request.Meta()),
		mcpclient.WithProgress(c.advance()),
	}
	level, wanted := c.request.LogLevel()
	if !wanted || !use.logsForOne() {
		return opts
	}
	use.wantLog(c.ctx, level)
	return append(opts, mcpclient.WithLogLevel(level), mcpclient.WithLog(func(m *mcp.LoggingMessageParams) {
		c.tell(func(ctx context.Context) {
			_ = mcpserver.RelayLog(ctx, m) // a message that makes no sense is nothing to fail for
		})
	}))
}

// advance returns what tells the caller of progress. A server that counts from
// the start again in each round counts on from where the caller is.
func (c *call) advance() func(mcp.ProgressParams) {
	first, offset := true, 0.0
	return func(p mcp.ProgressParams) {
		if first && p.Progress <= c.before {
			offset = c.before
		}
		first = false
		p.Progress += offset
		if p.Total > 0 {
			p.Total += offset
		}
		c.reached = max(c.reached, p.Progress)
		c.tell(func(ctx context.Context) { mcpserver.Progress(ctx, p.Progress, p.Total, p.Message) })
	}
}
