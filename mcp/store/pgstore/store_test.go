package pgstore_test

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestStoreKeepsItsContracts(t *testing.T) {
	t.Parallel()
	url := testengine.Postgres(t, "max_connections=200").URL
	// The order of its texts is that of the language, which is not that of their bytes.
	administrator(t, url)(`CREATE DATABASE english TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'`)
	url = strings.Replace(url, "/postgres?", "/english?", 1)
	t.Run("Store", func(t *testing.T) {
		t.Parallel()
		mcptest.CheckStore(t, func(t *testing.T) (mcp.Store, mcp.Store) { return two(t, url) })
	})
	t.Run("Bus", func(t *testing.T) {
		t.Parallel()
		mcptest.CheckBus(t, func(t *testing.T) (mcp.Bus, mcp.Bus) { return two(t, url) })
	})
	t.Run("EventStore", func(t *testing.T) {
		t.Parallel()
		mcptest.CheckEventStore(t, func(t *testing.T) (mcp.EventStore, mcp.EventStore) {
			one, other := two(t, url)
			return one.Events(), other.Events()
		})
	})
}
