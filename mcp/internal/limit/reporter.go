package limit

import (
	"context"
	"log/slog"
	"sync"
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

	mu     sync.Mutex
	states map[mcp.Limit]logState // guarded by mu
}

// logState is the state of the log lines about one limit.
type logState struct {
	next time.Time // the time of the next line at the earliest
	left int       // lines that were left out since the last
}

// Reached reports one limit. A nil Reporter does nothing. A panic of the hook is logged.
func (r *Reporter) Reached(e mcp.LimitReached) {
	if r == nil {
		return
	}
	if left, due := r.due(e.Limit); due {
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

// due reports whether to write a log line, and how many were left out since the last.
func (r *Reporter) due(l mcp.Limit) (left int, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, last := time.Now(), r.states[l]
	if now.Before(last.next) {
		last.left++
		r.states[l] = last
		return 0, false
	}
	if r.states == nil {
		r.states = make(map[mcp.Limit]logState)
	}
	r.states[l] = logState{next: now.Add(logEvery)}
	return last.left, true
}
