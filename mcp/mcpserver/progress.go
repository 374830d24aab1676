package mcpserver

import (
	"context"

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
