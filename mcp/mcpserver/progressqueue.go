package mcpserver

import (
	"math"
	"sync"
	"time"
)

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
