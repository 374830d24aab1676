package mcptest_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testdir"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMain(m *testing.M) {
	testdir.Prepare()
	mcptest.ShortenChecks(time.Second, 2*time.Minute)
	leak.Main(m)
}

// newFixture returns a new fixture that logs nothing.
func newFixture() *mcpserver.Server {
	return mcptest.NewServer(&mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
}
