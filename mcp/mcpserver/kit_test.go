package mcpserver_test

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// anyContext shortens the signatures of handlers.
type anyContext = context.Context

const hour = time.Hour

func rawNothing(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
	return &mcp.CallToolResult{}, nil
}

// logbook keeps what is logged.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logbook) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// textLog returns a logger that writes to l.
func textLog(l *logbook) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
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

// pipe connects two ends in memory. What the server sends has to be valid.
func pipe(t *testing.T) (ours, theirs mcp.Conn) {
	t.Helper()
	ours, theirs = memory.Pair()
	return mcptest.CheckWire(t, ours, mcptest.Client, mcptest.CheckOnly(mcptest.Server)), theirs
}
