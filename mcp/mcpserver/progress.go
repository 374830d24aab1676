package mcpserver

import (
	"context"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// Progress tells the caller how far the call has come: done of total, in any
// unit, with a message for people. A total of 0 is unknown. It does nothing when
// the caller did not ask for progress, outside of a call, and when done is not
// more than it was before. It is safe for concurrent use.
//
// Spec: 2026-07-28 basic/utilities/progress
func Progress(ctx context.Context, done, total float64, message string) {
	r := From(ctx)
	if r == nil || r.call.Meta.Progress.IsZero() || !r.progress.advance(done) {
		return
	}
	_ = r.notify(ctx, mcp.NotificationProgress, &mcp.ProgressParams{
		ProgressToken: r.call.Meta.Progress, Progress: done, Total: total, Message: cleanText(message, maxErrorText),
	})
}

// progress remembers how far a call has come.
type progress struct {
	mu      sync.Mutex
	started bool
	done    float64
}

// advance reports whether done is further than before.
func (p *progress) advance(done float64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started && done <= p.done {
		return false
	}
	p.started, p.done = true, done
	return true
}
