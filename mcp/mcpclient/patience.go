package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long one call waits: for a while since the last sign of
// progress, and in all no longer than a maximum. The while begins anew when a
// handler of this client has kept the server waiting.
type patience struct {
	ctx     context.Context // ends with the caller's, or when patience does
	cancel  context.CancelCauseFunc
	answers *answers
	while   time.Duration // negative: for ever
	most    time.Duration // negative: for ever

	mu    sync.Mutex
	since time.Time // the last sign
	until time.Time // when most is over
	timer *time.Timer
}

// answers counts the handlers that answer the server at this moment.
type answers struct {
	running atomic.Int32
	last    atomic.Int64 // when one ended the last time, in Unix nanoseconds
}

func (a *answers) begin() { a.running.Add(1) }

func (a *answers) end() {
	a.last.Store(time.Now().UnixNano())
	a.running.Add(-1)
}

// latest returns when a handler was last seen at work.
func (a *answers) latest() time.Time {
	if a.running.Load() > 0 {
		return time.Now()
	}
	return time.Unix(0, a.last.Load())
}

func (c *Client) patience(ctx context.Context, o *callOptions) *patience {
	now := time.Now()
	p := &patience{
		answers: &c.answers,
		while:   cmp.Or(o.timeout, c.opts.timeout()),
		most:    c.opts.maxTimeout(),
		since:   now,
	}
	p.until = now.Add(p.most)
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if wait, ok := p.left(); ok {
		p.timer = time.AfterFunc(wait, p.expire)
	}
	return p
}

// left returns how long to wait from now on, and false for ever. The caller
// holds mu.
func (p *patience) left() (time.Duration, bool) {
	last := p.since
	if a := p.answers.latest(); a.After(last) {
		last = a
	}
	while, most := time.Until(last.Add(p.while)), time.Until(p.until)
	switch {
	case p.while < 0:
		return most, p.most >= 0
	case p.most < 0:
		return while, true
	}
	return min(while, most), true
}

func (p *patience) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch left, _ := p.left(); {
	case left > 0:
		p.timer.Reset(left)
	case p.most >= 0 && !time.Now().Before(p.until):
		p.cancel(fmt.Errorf("no answer within %v, the maximum: %w", p.most, context.DeadlineExceeded))
	default:
		p.cancel(fmt.Errorf("no answer within %v: %w", p.while, context.DeadlineExceeded))
	}
}

// extend begins the while anew.
func (p *patience) extend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = time.Now()
	if left, ok := p.left(); ok {
		p.timer.Reset(left)
	}
}

// pause stops the clock until extend.
func (p *patience) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
}

func (p *patience) stop() {
	p.pause()
	p.cancel(nil)
}

// reason says to the server why it need not answer any more.
func (p *patience) reason() string {
	if errors.Is(context.Cause(p.ctx), context.DeadlineExceeded) {
		return "the client waited too long"
	}
	return "the client has given up"
}
