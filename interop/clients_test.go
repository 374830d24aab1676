package interop_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A failure here means that programs written with another SDK cannot use a
// server written with this one.
func TestForeignClientsUseEveryFeatureOfAServer(t *testing.T) {
	needPeers(t)
	t.Parallel()
	addr := serveFixture(t)
	targets := map[string]string{
		"http":  "http://" + addr + "/mcp",
		"sse":   "sse+http://" + addr + "/sse",
		"stdio": "stdio:" + program("fixture"),
	}
	for _, cell := range []struct{ sdk, transport, revision string }{
		{"2", "http", "2026-07-28"},
		{"2", "stdio", "2026-07-28"},
		{"2-modern", "http", "2026-07-28"},
		{"2-modern", "stdio", "2026-07-28"},
		{"2-legacy", "http", "2025-11-25"},
		{"2-legacy", "stdio", "2025-11-25"},
		{"2-legacy", "sse", "2025-11-25"},
		{"1", "http", "2025-11-25"},
		{"1", "stdio", "2025-11-25"},
		{"1", "sse", "2025-11-25"},
	} {
		name := cell.sdk + " over " + cell.transport
		t.Run(name, func(t *testing.T) {
			visitForeign(t, cell.sdk, targets[cell.transport], cell.revision, fixturePlan(identifier(name)), nil)
		})
	}
}

// identifier makes the name of a tool of any words.
func identifier(words string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '.' || r == '-' {
			return '_'
		}
		return r
	}, words)
}

// serveFixture serves the fixture over HTTP and returns its address.
func serveFixture(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		done <- mcptest.NewServer(nil).ListenAndServe(ctx, "127.0.0.1:0", func(a net.Addr) { ready <- a })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve the fixture: %v", err)
		}
	})
	return (<-ready).String()
}
