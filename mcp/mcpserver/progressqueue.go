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

// progressQueue limits how often the progress of a call is sent. While it has to wait it
// keeps only the latest progress. It calls send functions, which may run user code,
// without a lock. The zero value is ready for use; it is safe for concurrent use.
type progressQueue struct {
	mu       sync.Mutex
	started  bool
	sending  bool // a goroutine sends, without the lock
	done     float64
	pending  func()      // sends the latest progress that is not sent yet, or nil
	timer    *time.Timer // sends pending, or nil
	throttle throttle
	finished chan struct{} // closed when sending ends; nil unless flush waits
}

// advance calls send, now or later, if done is greater than before, unless another call of
// advance replaces it first. Sends run one after the other, in order. send must not panic.
func (p *progressQueue) advance(done float64, send func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !finite(done) || p.started && done <= p.done {
		return
	}
	p.started, p.done, p.pending = true, done, send
	p.sendLocked(false)
}

// release sends the pending progress. The timer calls it.
func (p *progressQueue) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	p.sendLocked(false)
}

// flush sends the pending progress at the end of the call, and returns when no send runs.
func (p *progressQueue) flush() {
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

// sendLocked sends the pending progress as soon as the throttle permits, or now if atOnce
// is set. If another goroutine is sending, that one sends it. mu is unlocked during a send.
func (p *progressQueue) sendLocked(atOnce bool) {
	if p.sending {
		return
	}
	for p.pending != nil {
		if wait := p.throttle.delay(progressBurst, progressEvery); wait > 0 && !atOnce {
			if p.timer == nil {
				p.timer = time.AfterFunc(wait, p.release)
			}
			break
		}
		send := p.pending
		p.pending, p.sending = nil, true
		p.throttle.record(progressEvery)
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
