package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// patience is how long one call waits: for a while since the last sign of
// progress, and in all no longer than a maximum. The while does not pass as long
// as a handler of this client keeps the server waiting.
type patience struct {
	ctx    context.Context // ends with the caller's, or when patience does
	cancel context.CancelCauseFunc
	busy   func() bool
	while  time.Duration // negative: for ever
	most   time.Duration // negative: for ever

	mu    sync.Mutex
	until time.Time // when most is over
	timer *time.Timer
}

func (c *Client) patience(ctx context.Context, o *callOptions) *patience {
	p := &patience{
		busy:  func() bool { return c.answering.Load() > 0 },
		while: cmp.Or(o.timeout, c.opts.timeout()),
		most:  c.opts.maxTimeout(),
	}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = time.Now().Add(p.most)
	if wait, ok := p.next(); ok {
		p.timer = time.AfterFunc(wait, p.expire)
	}
	return p
}

// next returns how long to wait from now on, and false for ever. The caller
// holds mu.
func (p *patience) next() (time.Duration, bool) {
	if p.most < 0 {
		return p.while, p.while > 0
	}
	left := max(time.Until(p.until), 0)
	if p.while < 0 {
		return left, true
	}
	return min(p.while, left), true
}

func (p *patience) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch over := p.most >= 0 && !time.Now().Before(p.until); {
	case over:
		p.cancel(fmt.Errorf("no answer within %v, the maximum: %w", p.most, context.DeadlineExceeded))
	case p.busy():
		p.rearm()
	default:
		p.cancel(fmt.Errorf("no answer within %v: %w", p.while, context.DeadlineExceeded))
	}
}

// extend begins the while anew.
func (p *patience) extend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rearm()
}

func (p *patience) rearm() {
	if wait, ok := p.next(); ok {
		p.timer.Reset(wait)
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
