package mcpserver

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Progress sends the progress of the call that ctx belongs to (notifications/progress):
// done of total, in any unit, with a message for people, which may be empty. A total of 0
// means that it is unknown. Progress does nothing outside of a call, when the caller did
// not ask for progress, and when done is not greater than before. It is safe for
// concurrent use.
//
// It may be called as often as is convenient. A call sends up to 10 notifications at once,
// then one every 50 ms; of those that wait only the latest is kept. The last one is always
// sent before the reply.
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
	o := r.begunOutgoing()
	if o == endedOutgoing {
		return
	}
	o.progress.advance(done, func() {
		p := mcp.ProgressParams{
			ProgressToken: r.call.Meta.Progress, Progress: done, Total: total,
			Message: cleanText(message, maxErrorText), Meta: r.detached.meta(),
		}
		if r.detached != nil && r.detached.Progress != nil {
			r.server.runLogged(r.ctx, "function of Background.Progress", func() error { r.detached.Progress(p); return nil })
		}
		if !p.ProgressToken.IsZero() {
			_ = usercode.Run(func() error { return r.Notify(r.ctx, mcp.NotificationProgress, &p) })
		}
	})
}
