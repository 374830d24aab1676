package main

import (
	"context"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// addNotifications adds tools that send notifications before the result.
func addNotifications(srv *mcpserver.Server) {
	srv.Tool("test_tool_with_progress", "Reports progress three times", withProgress, mcpserver.ReadOnly())
	srv.Tool("test_tool_with_logging", "Logs three messages", withLogging, mcpserver.ReadOnly())
	srv.Tool("test_reconnection", "Hangs up before its result", reconnection, mcpserver.ReadOnly())
	srv.Tool("test_logging_tool", "Logs one message to clients that want it", logOnce, mcpserver.ReadOnly())
}

// stepTime is long enough for a client to receive each notification by itself.
const stepTime = 50 * time.Millisecond

func withProgress(ctx context.Context, _ none) (string, error) {
	for _, done := range []float64{0, 50, 100} {
		mcpserver.Progress(ctx, done, 100, "")
		if err := pause(ctx, stepTime); err != nil {
			return "", err
		}
	}
	return "Progress is complete.", nil
}

func withLogging(ctx context.Context, _ none) (string, error) {
	for _, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		mcpserver.Log(ctx).Info(message)
		if err := pause(ctx, stepTime); err != nil {
			return "", err
		}
	}
	return "Logging is complete.", nil
}

func logOnce(ctx context.Context, _ none) (string, error) {
	mcpserver.Log(ctx).Info("Only who asked for logs reads this")
	return "Logged.", nil
}

// retryTime is how long a client is asked to wait before it reconnects.
const retryTime = 500 * time.Millisecond

// reconnection closes the connection during the call. The client gets the result after it
// has reconnected.
func reconnection(ctx context.Context, _ none) (string, error) {
	mcpserver.CloseStream(ctx, retryTime)
	if err := pause(ctx, 2*stepTime); err != nil {
		return "", err
	}
	return "The client came back.", nil
}

// pause waits, unless the call is cancelled.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
