package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
)

// anyContext shortens the signatures of handlers.
type anyContext = context.Context

const hour = time.Hour

func rawNothing(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
	return &mcp.CallToolResult{}, nil
}

// textLog returns a logger that writes to w.
func textLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(&lockedWriter{w: w}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

var incidentID = regexp.MustCompile(`incident ([A-Z2-7]{10})\b`)

// incident returns the id by which an error is found in the log.
func incident(t *testing.T, text string) string {
	t.Helper()
	m := incidentID.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("got %s, want the id of an incident", text)
	}
	return m[1]
}

// panicText returns what f panics with.
func panicText(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() {
		v := recover()
		if v == nil {
			t.Error("got no panic, want one")
		}
		text = fmt.Sprint(v)
	}()
	f()
	return ""
}

// pipe connects two ends in memory.
func pipe() (ours, theirs mcp.Conn) { return memory.Pair() }
