package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// patience is how long one call waits: for a while since the last sign of
// progress, and in all no longer than a maximum. The while begins anew when a
// handler of this client has kept the server waiting. Neither goes on while the
// client is given credentials.
type patience struct {
	ctx     context.Context // ends with the caller's, or when patience does
	cancel  context.CancelCauseFunc
	answers *answers
	while   time.Duration // negative: for ever
	most    time.Duration // negative: for ever

	mu     sync.Mutex
	since  time.Time // the last sign
	until  time.Time // when most is over
	timer  *time.Timer
	paused bool
	held   int       // by how many, see exchange.Clock
	heldAt time.Time // since when
}

var _ exchange.Clock = (*patience)(nil)

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

// start begins to wait. It needs one stop.
func (p *patience) start(ctx context.Context, c *Client, o *callOptions) {
	p.answers = &c.answers
	p.while, p.most = cmp.Or(o.timeout, c.opts.timeout()), c.opts.maxTimeout()
	p.since = time.Now()
	p.until = p.since.Add(p.most)
	if c.opts.HTTP.Auth != nil {
		ctx = exchange.WithClock(ctx, p)
	}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if wait, ok := p.left(); ok {
		p.timer = time.AfterFunc(wait, p.expire)
	}
}

// left returns how long to wait from now on, and false for ever. The caller
// holds mu.
func (p *patience) left() (time.Duration, bool) {
	last := p.since
	if a := p.answers.latest(); a.After(last) {
		last = a
	}
	now := p.now()
	while, most := last.Add(p.while).Sub(now), p.until.Sub(now)
	switch {
	case p.while < 0:
		return most, p.most >= 0
	case p.most < 0:
		return while, true
	}
	return min(while, most), true
}

// now is when the clock stands. The caller holds mu.
func (p *patience) now() time.Time {
	if p.held > 0 {
		return p.heldAt
	}
	return time.Now()
}

func (p *patience) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch left, _ := p.left(); {
	case left > 0:
		p.wind()
	case p.most >= 0 && !p.now().Before(p.until):
		p.cancel(fmt.Errorf("no answer within %v, the maximum: %w", p.most, context.DeadlineExceeded))
	default:
		p.cancel(fmt.Errorf("no answer within %v: %w", p.while, context.DeadlineExceeded))
	}
}

// extend begins the while anew.
func (p *patience) extend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since, p.paused = time.Now(), false
	p.wind()
}

// pause stops the clock until extend.
func (p *patience) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// Hold implements exchange.Clock.
func (p *patience) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held++; p.held == 1 {
		p.heldAt = time.Now()
	}
}

// Release implements exchange.Clock.
func (p *patience) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held--; p.held > 0 {
		return
	}
	stood := time.Since(p.heldAt)
	p.since, p.until = p.since.Add(stood), p.until.Add(stood)
	p.wind()
}

// wind sets the timer. The caller holds mu.
func (p *patience) wind() {
	if left, ok := p.left(); ok && p.held == 0 && !p.paused {
		p.timer.Reset(left)
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
