package relay

import (
	"context"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

var _ link.Waiter = (*call)(nil)

// ReportStart reports to the caller of the call that its upstream still starts. The progress of the
// upstream continues from there.
func (c *call) ReportStart() {
	c.progress.raise(startProgress(c.Context))
	c.notify(ReportStart)
}

// ReportStart reports to the caller of ctx, if it has asked for progress, that its request waits for an
// upstream that starts.
func ReportStart(ctx context.Context) {
	mcpserver.Progress(ctx, startProgress(ctx), 0, "waiting for the server to start")
}

// startProgress is the progress of a request that waits. It grows with time, and is small, so that
// that of the upstream is greater in most units.
func startProgress(ctx context.Context) float64 {
	return time.Since(mcpserver.StartedAt(ctx)).Seconds() / 1000
}

// StillStarting returns the outcome of a request whose upstream has not started while it waited: a
// result for the model if a tool was called, otherwise an error.
func StillStarting(method, key string) (mcp.Result, error) {
	text := stillStarting(key)
	if method != mcp.MethodToolsCall {
		return nil, mcp.Errorf(mcp.CodeInternal, "%s: %s", method, text)
	}
	return &mcp.CallToolResult{IsError: true, Content: mcp.Contents{mcp.Text(text)}}, nil
}

func stillStarting(key string) string {
	return fmt.Sprintf("upstream %q: still starting, call again", key)
}
