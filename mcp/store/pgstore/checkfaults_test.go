package pgstore_test

import (
	"testing"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/mcp/store/pgstore"
)

func TestCrashesOfTheServerKeepTheContracts(t *testing.T) {
	t.Parallel()
	server := testengine.Postgres(t, "fsync=on")
	mcptest.CheckFaults(t, mcptest.Engine{
		Open: replica(server), Cut: server.Proxy.Cut, Stop: server.Kill, Start: server.Start,
		OneClock: true, // is in the next test
	})
}

func TestServerThatDoesNotAnswerKeepsTheContracts(t *testing.T) {
	t.Parallel()
	server := testengine.Postgres(t)
	mcptest.CheckFaults(t, mcptest.Engine{Open: replica(server), Block: server.Proxy.Block, Unblock: server.Proxy.Unblock})
}

func replica(server *testengine.Server) func(t *testing.T) (mcp.Store, mcp.Bus, mcp.EventStore) {
	return func(t *testing.T) (mcp.Store, mcp.Bus, mcp.EventStore) {
		s := open(t, server.URL, &pgstore.Options{MaxConns: 4})
		return s, s, s.Events()
	}
}
