package mcptest_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMemoryStorePassesItsCheck(t *testing.T) {
	t.Parallel()
	mcptest.CheckStore(t, func(*testing.T) (one, two mcp.Store) {
		s := new(mcpserver.MemoryStore)
		return s, s
	})
}

func TestMemoryBusPassesItsCheck(t *testing.T) {
	t.Parallel()
	mcptest.CheckBus(t, func(*testing.T) (one, two mcp.Bus) {
		b := new(mcpserver.MemoryBus)
		return b, b
	})
}

func TestPlainEventStorePassesItsCheck(t *testing.T) {
	t.Parallel()
	mcptest.CheckEventStore(t, func(*testing.T) (one, two mcp.EventStore) {
		e := new(plainEvents)
		return e, e
	})
}
