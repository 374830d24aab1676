package mcpware

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/backoff"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// RetryOptions are the options of Retry. Nil gives the defaults.
type RetryOptions struct {
	// Attempts is the maximum number of times that a request is sent. Default:
	// 3.
	Attempts int
	// Pause is the time before the second attempt. It doubles with each attempt up to MaxPause; up
	// to half of it is random. If the server says when to retry, that time is used instead; if it
	// is longer than MaxPause, the request fails. Default: 200 milliseconds and 10 seconds.
	Pause    time.Duration
	MaxPause time.Duration
	// Idempotent lists tools that may be called twice, in addition to those that the server
	// annotates with readOnlyHint or idempotentHint. Annotations may be wrong; NoHints ignores
	// them.
	Idempotent []string
	NoHints    bool
}

func (o *RetryOptions) orZero() *RetryOptions {
	if o == nil {
		return new(RetryOptions)
	}
	return o
}

func (o *RetryOptions) attempts() int        { return cmp.Or(o.orZero().Attempts, 3) }
func (o *RetryOptions) pause() time.Duration { return cmp.Or(o.orZero().Pause, 200*time.Millisecond) }

func (o *RetryOptions) maxPause() time.Duration { return cmp.Or(o.orZero().MaxPause, 10*time.Second) }

// Retry returns middleware that sends failed requests of a client again:
//
//   - any request that the server refused before it began, with an error that says when
//     to retry,
//   - an idempotent request that may have run, because its connection was lost or a proxy
//     failed: any request but tools/call, and calls of tools that are known to be
//     idempotent.
//
// Other error responses are returned. The deadline of the context applies to all attempts
// together.
func Retry(o *RetryOptions) mcpclient.Middleware {
	o = new(*o.orZero())
	o.Idempotent = slices.Clone(o.Idempotent)
	p := &retrying{o: o, hinted: make(map[string]bool)}
	return func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (any, error) {
			if r.Inbound {
				return next(ctx, r)
			}
			return p.send(ctx, r, next)
		}
	}
}

// retrying is the state of one Retry.
type retrying struct {
	o *RetryOptions

	mu     sync.Mutex
	hinted map[string]bool // guarded by mu: tools that the server says are idempotent
}

func (p *retrying) send(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (any, error) {
	for attempt := 1; ; attempt++ {
		result, err := next(ctx, r)
		p.learn(result)
		if err == nil || attempt >= p.o.attempts() || ctx.Err() != nil {
			return result, err
		}
		pause, again := p.pauseAfter(err, r, attempt)
		if !again || sleep(ctx, pause) != nil {
			return result, err
		}
	}
}

// pauseAfter returns whether, and after what time, a failed request is sent again.
func (p *retrying) pauseAfter(err error, r *mcpclient.Request, attempt int) (time.Duration, bool) {
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		wait, refused := e.RetryAfter()
		return wait, refused && wait <= p.o.maxPause()
	}
	if !mayHaveRun(err) || !p.idempotent(r) {
		return 0, false
	}
	return backoff.Random(backoff.Pause(attempt, p.o.pause(), p.o.maxPause())), true
}

// mayHaveRun reports whether it is unknown if the server has processed a failed request.
func mayHaveRun(err error) bool {
	if _, ok := errors.AsType[*mcpclient.MayHaveRunError](err); ok {
		return true
	}
	e, ok := errors.AsType[*mcpclient.HTTPError](err)
	return ok && e.NotBegun()
}

// idempotent reports whether a repeated request has no additional effect.
func (p *retrying) idempotent(r *mcpclient.Request) bool {
	if r.Method != mcp.MethodToolsCall {
		return repeatable[r.Method]
	}
	name := nameOf(r.Params)
	if slices.Contains(p.o.orZero().Idempotent, name) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hinted[name] && !p.o.orZero().NoHints
}

// repeatable are the methods that change nothing. Methods of extensions are unknown.
var repeatable = map[string]bool{
	mcp.MethodToolsList: true, mcp.MethodPromptsList: true, mcp.MethodResourcesList: true, mcp.MethodResourceTemplatesList: true,
	mcp.MethodPromptsGet: true, mcp.MethodResourcesRead: true, mcp.MethodComplete: true,
}

// maxHinted is the maximum number of tools whose hints are stored.
const maxHinted = 10_000

// learn stores the hints of the tools in a list.
func (p *retrying) learn(result any) {
	page, ok := result.(*mcp.ListToolsResult)
	if !ok || page == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range page.Tools {
		t := &page.Tools[i]
		if len(p.hinted) < maxHinted || p.hinted[t.Name] {
			p.hinted[t.Name] = t.Annotations != nil && (isTrue(t.Annotations.ReadOnlyHint) || isTrue(t.Annotations.IdempotentHint))
		}
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
