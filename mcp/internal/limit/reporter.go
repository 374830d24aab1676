package limit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// logEvery is how often the log has a line about one limit.
const logEvery = 10 * time.Second

// Reporter tells of limits that were reached: the hook each time, the log now and
// then. It is safe for concurrent use, and tells nobody under a lock.
type Reporter struct {
	// Hook is told. May be nil.
	Hook func(mcp.LimitReached)
	// Logger has the lines.
	Logger *slog.Logger

	mu    sync.Mutex
	lines map[mcp.Limit]line // guarded by mu
}

// line is what the log has about one limit.
type line struct {
	next time.Time // when there may be another
	left int       // how often it was left out
}

// Reached tells of one limit. Reporters that are nil tell nobody. A panic of the hook
// is logged.
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

// due reports whether the log is to have a line, and how often it had none since the
// last.
func (r *Reporter) due(l mcp.Limit) (left int, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, last := time.Now(), r.lines[l]
	if now.Before(last.next) {
		last.left++
		r.lines[l] = last
		return 0, false
	}
	if r.lines == nil {
		r.lines = make(map[mcp.Limit]line)
	}
	r.lines[l] = line{next: now.Add(logEvery)}
	return last.left, true
}
