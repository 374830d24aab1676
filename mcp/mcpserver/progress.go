package mcpserver

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Progress tells the caller how far the call has come: done of total, in any
// unit, with a message for people. A total of 0 is unknown. It does nothing when
// the caller did not ask for progress, outside of a call, and when done is not
// more than it was before. It is safe for concurrent use.
//
// It may be called as often as is convenient: 10 are sent at once, then one every
// 50 ms, and what waits gives way to what comes later. The last one is sent in any
// case, before the reply.
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
	if !finite(done) || !r.run.Advance(done) {
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
			_ = r.Notify(r.ctx, mcp.NotificationProgress, &p)
		}
	})
}

const (
	progressBurst = 10
	progressEvery = 50 * time.Millisecond
)

// progress remembers how far a call has come, and holds back what comes too often.
type progress struct {
	mu      sync.Mutex
	started bool
	done    float64
	held    func()      // tells the latest that was held back, or nil
	timer   *time.Timer // tells held, or nil
	pace    pace
}

// advance calls tell, now or later, if done is further than before. What is told
// is told in the same order.
func (p *progress) advance(done float64, tell func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !finite(done) || p.started && done <= p.done {
		return
	}
	p.started, p.done, p.held = true, done, tell
	wait := p.pace.wait(progressBurst, progressEvery)
	switch {
	case wait <= 0:
		p.tell()
	case p.timer == nil:
		p.timer = time.AfterFunc(wait, p.release)
	}
}

// release tells what was held back. Whoever ends the call waits for it, by mu.
func (p *progress) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	p.tell()
}

// flush tells what is held back, at the end of the call.
func (p *progress) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.tell()
}

// tell tells what is held. The caller holds mu.
func (p *progress) tell() {
	if p.held == nil {
		return
	}
	p.pace.take(progressEvery)
	p.held()
	p.held = nil
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
