package mcptest_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func ExampleCheckStore() {
	// In a test of your store, the body of TestStore:
	test := func(t *testing.T) {
		mcptest.CheckStore(t, func(t *testing.T) (one, two mcp.Store) {
			s := new(mcpserver.MemoryStore) // open your store twice, with a namespace named after t
			return s, s
		})
	}
	_ = test
}

func ExampleCheckBus() {
	test := func(t *testing.T) {
		mcptest.CheckBus(t, func(t *testing.T) (one, two mcp.Bus) {
			b := new(mcpserver.MemoryBus) // open your bus twice
			return b, b
		})
	}
	_ = test
}

func ExampleCheckEventStore() {
	open := func(t *testing.T) mcp.EventStore { panic("open your event store, and close it with t.Cleanup") }
	test := func(t *testing.T) {
		mcptest.CheckEventStore(t, func(t *testing.T) (one, two mcp.EventStore) { return open(t), open(t) })
	}
	_ = test
}

func ExampleCheckFaults() {
	var server struct{ cut, stop, start func() } // your server, behind a proxy
	open := func(t *testing.T) (mcp.Store, mcp.Bus, mcp.EventStore) { panic("open a connection to the proxy") }
	test := func(t *testing.T) {
		mcptest.CheckFaults(t, mcptest.Engine{
			Open:  open,
			Cut:   server.cut,
			Stop:  server.stop,
			Start: server.start,
		})
	}
	_ = test
}
