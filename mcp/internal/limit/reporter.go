package limit

import (
	"context"
	"log/slog"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// logEvery is the minimum time between two log lines about one limit.
const logEvery = 10 * time.Second

// Reporter reports limits that were reached: to the hook each time, to the log at most once
// in 10 seconds for each limit. It is safe for concurrent use, and calls neither with a lock
// held.
type Reporter struct {
	// Hook is called each time. It may be nil.
	Hook func(mcp.LimitReached)
	// Logger receives the log lines.
	Logger *slog.Logger

	lines LogRate[mcp.Limit]
}

// Reached reports one limit. A nil Reporter does nothing. A panic of the hook is logged.
func (r *Reporter) Reached(e mcp.LimitReached) {
	if r == nil {
		return
	}
	if left, due := r.lines.Due(e.Limit, logEvery); due {
		r.Logger.LogAttrs(context.Background(), slog.LevelWarn, "limit reached",
			slog.String("limit", string(e.Limit)), slog.String("principal", e.Principal.String()),
			slog.String("method", e.Method), slog.Int("more", left))
	}
	if r.Hook == nil {
		return
	}
	if err := usercode.Run(func() error { r.Hook(e); return nil }); err != nil {
		r.Logger.LogAttrs(context.Background(), slog.LevelError, "limit hook panicked", usercode.Attrs(err)...)
	}
}
