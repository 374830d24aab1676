package natsstore_test

import (
	"crypto/rand"
	"flag"
	"testing"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/mcp/store/natsstore"
)

// TestMain runs more tests at a time than there are processors, because they wait for servers most
// of the time.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	mcptest.Main(m)
}

// open opens a store that ends with the test.
func open(t *testing.T, url string, opts natsstore.Options) *natsstore.Store {
	t.Helper()
	s, err := natsstore.Open(t.Context(), url, &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// small are the options of tests, which share the disk.
func small(namespace string) natsstore.Options {
	return natsstore.Options{Namespace: namespace, MaxEventBytes: 16 << 20}
}

// pair opens two stores in a namespace of their own.
func pair(t *testing.T, url string) (one, two *natsstore.Store) {
	t.Helper()
	opts := small(rand.Text())
	return open(t, url, opts), open(t, url, opts)
}

func TestStoreKeepsItsContract(t *testing.T) {
	t.Parallel()
	server := testengine.NATS(t)
	t.Run("values", func(t *testing.T) {
		mcptest.CheckStore(t, func(t *testing.T) (one, two mcp.Store) { return pair(t, server.URL) })
	})
	t.Run("messages", func(t *testing.T) {
		mcptest.CheckBus(t, func(t *testing.T) (one, two mcp.Bus) { return pair(t, server.URL) })
	})
	t.Run("events", func(t *testing.T) {
		mcptest.CheckEventStore(t, func(t *testing.T) (one, two mcp.EventStore) {
			a, b := pair(t, server.URL)
			return a.Events(), b.Events()
		})
	})
}
