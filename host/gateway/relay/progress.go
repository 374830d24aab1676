package relay

import (
	"context"
	"math"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// callerProgress is the progress of a request as its caller knows it: that of the upstream, and that of
// the host while the request waits. It increases over all rounds of the request. It is safe for
// concurrent use.
type callerProgress struct {
	mu       sync.Mutex
	known    float64 // guarded by mu: what the caller knows
	total    float64 // guarded by mu: the last total, or zero
	upstream float64 // guarded by mu: that of the upstream in this round
	offset   float64 // guarded by mu: added to that of the upstream
}

// raise notes what the caller knows from earlier rounds, or from other waits.
func (p *callerProgress) raise(known float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = max(p.known, known)
}

// current returns what the caller knows.
func (p *callerProgress) current() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known
}

// next returns progress of the upstream as the caller gets it. The offset grows if the upstream is not
// ahead of what the caller knows: it may begin again in each round, and the host has its own progress
// while the request waits.
func (p *callerProgress) next(u mcp.ProgressParams) mcp.ProgressParams {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u.Progress > p.upstream && u.Progress+p.offset <= p.known {
		p.offset = p.known - p.upstream
	}
	p.upstream = max(p.upstream, u.Progress)
	u.Progress += p.offset
	if u.Total > 0 {
		u.Total += p.offset
	}
	p.known, p.total = max(p.known, u.Progress), u.Total
	return u
}

// wait returns progress of the host for a request that waits: a little more than the caller knows, with
// the total of the upstream unless it is reached.
func (p *callerProgress) wait() (progress, total float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = afterWaiting(p.known)
	if p.total < p.known {
		p.total = 0
	}
	return p.known, p.total
}

// waitingStep is what one notification adds to the progress of a request that waits: little, so that the
// progress of the upstream follows without a gap.
const waitingStep = 1.0 / 1024

// afterWaiting returns a little more than a progress.
func afterWaiting(progress float64) float64 {
	return max(progress+waitingStep, math.Nextafter(progress, math.Inf(1)))
}

// ReportWait sends progress of the host to the caller of the call.
func (c *call) ReportWait(message string) {
	progress, total := c.progress.wait()
	c.notify(func(ctx context.Context) { mcpserver.Progress(ctx, progress, total, message) })
}

// ReportWait reports to the caller of ctx, if it has asked for progress, that its request waits before it
// is sent. known is the progress that the caller knows; the result is that after the report.
func ReportWait(ctx context.Context, known float64, message string) float64 {
	progress := max(afterWaiting(known), startProgress(ctx))
	mcpserver.Progress(ctx, progress, 0, message)
	return progress
}
