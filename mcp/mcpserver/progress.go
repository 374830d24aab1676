package mcpserver

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
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
	if r == nil || r.call.Meta.Progress.IsZero() && r.detached == nil {
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
			Message: cleanText(message, maxErrorText), Meta: r.detached.meta(),
		}
		if r.detached != nil && r.detached.Progress != nil {
			r.server.background(r.ctx, "function of Background.Progress", func() error { r.detached.Progress(p); return nil })
		}
		if !p.ProgressToken.IsZero() {
			_ = usercode.Run(func() error { return r.Notify(r.ctx, mcp.NotificationProgress, &p) })
		}
	})
}

const (
	progressBurst = 10
	progressEvery = 50 * time.Millisecond
)

// progress remembers how far a call has come, and holds back what comes too often.
// What it calls may be user code, so no lock is held meanwhile.
type progress struct {
	mu       sync.Mutex
	started  bool
	sending  bool // somebody sends, without the lock
	done     float64
	held     func()      // sends the latest that was held back, or nil
	timer    *time.Timer // sends held, or nil
	pace     pace
	finished chan struct{} // closed when nobody sends any more; nil unless flush waits
}

// advance calls send, now or later, if done is further than before. The calls are
// made one after the other, in the order of progress. send must not panic.
func (p *progress) advance(done float64, send func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !finite(done) || p.started && done <= p.done {
		return
	}
	p.started, p.done, p.held = true, done, send
	p.sendLocked(false)
}

// release sends what was held back.
func (p *progress) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	p.sendLocked(false)
}

// flush sends what is held back, at the end of the call, and returns when nothing is
// being sent.
func (p *progress) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	for p.sending {
		if p.finished == nil {
			p.finished = make(chan struct{})
		}
		finished := p.finished
		p.mu.Unlock()
		<-finished
		p.mu.Lock()
	}
	p.sendLocked(true)
}

// sendLocked sends what is held as soon as the pace permits, or at once, unless
// somebody is sending, who goes on with it. It unlocks mu while it sends.
func (p *progress) sendLocked(atOnce bool) {
	if p.sending {
		return
	}
	for p.held != nil {
		if wait := p.pace.wait(progressBurst, progressEvery); wait > 0 && !atOnce {
			if p.timer == nil {
				p.timer = time.AfterFunc(wait, p.release)
			}
			break
		}
		send := p.held
		p.held, p.sending = nil, true
		p.pace.take(progressEvery)
		p.mu.Unlock()
		send()
		p.mu.Lock()
		p.sending = false
	}
	if p.finished != nil {
		close(p.finished)
		p.finished = nil
	}
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
