//go:build unix || windows

package store_test

import (
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/mcp/store/boltstore"
)

func TestSealedEventsPassTheirCheck(t *testing.T) {
	t.Parallel()
	mcptest.CheckEventStore(t, func(t *testing.T) (one, two mcp.EventStore) {
		engine, err := boltstore.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = engine.Close() })
		return sealedEvents(t, engine.Events(), "a"), sealedEvents(t, engine.Events(), "a")
	})
}
