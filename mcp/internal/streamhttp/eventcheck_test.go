package streamhttp_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/streamhttp"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestEventsInMemoryPassTheirCheck(t *testing.T) {
	t.Parallel()
	mcptest.CheckEventStore(t, func(*testing.T) (one, two mcp.EventStore) {
		s := streamhttp.NewEventMemory()
		return s, s
	})
}
