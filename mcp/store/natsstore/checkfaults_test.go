package natsstore_test

import (
	"testing"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestStoreKeepsItsContractWhenNATSFails(t *testing.T) {
	t.Parallel()
	server := testengine.NATS(t)
	limit := func(bytes int64) {
		js := jetStream(t, server.URL)
		stream, err := js.Stream(t.Context(), "shop_STORE")
		if err != nil {
			t.Fatal(err)
		}
		config := stream.CachedInfo().Config
		config.MaxBytes = bytes
		if _, err := js.UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	mcptest.CheckFaults(t, mcptest.Engine{
		Open: func(t *testing.T) (mcp.Store, mcp.Bus, mcp.EventStore) {
			s := open(t, server.URL, small("shop"))
			return s, s, s.Events()
		},
		Cut:      server.Proxy.Cut,
		Stop:     server.Kill,
		Start:    server.Start,
		Block:    server.Proxy.Block,
		Unblock:  server.Proxy.Unblock,
		Fill:     func() { limit(1 << 20) },
		Drain:    func() { limit(-1) },
		OneClock: true, // nats.go keeps timers in a global variable
	})
}
