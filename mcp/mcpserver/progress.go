package mcpserver

import (
	"context"
	"math"
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
	if r == nil || r.call.Meta.Progress.IsZero() && r.apart == nil {
		return
	}
	if !finite(total) {
		total = 0
	}
	if !r.rounds.advance(done) {
		return
	}
	r.progress.advance(done, func() {
		p := mcp.ProgressParams{
			ProgressToken: r.call.Meta.Progress, Progress: done, Total: total,
			Message: cleanText(message, maxErrorText), Meta: r.apart.meta(),
		}
		if r.apart != nil && r.apart.Progress != nil {
			r.apart.Progress(p)
		}
		if !p.ProgressToken.IsZero() {
			_ = r.Notify(ctx, mcp.NotificationProgress, &p)
		}
	})
}

// progress remembers how far a call has come.
type progress struct {
	mu      sync.Mutex
	started bool
	done    float64
}

// advance calls tell if done is further than before. What is told is told in the
// same order.
func (p *progress) advance(done float64, tell func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !finite(done) || p.started && done <= p.done {
		return
	}
	p.started, p.done = true, done
	tell()
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
