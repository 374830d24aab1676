package mcpauth_test

import (
	"log/slog"
	"net/http"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/store"
	"github.com/fondaco/fondaco/mcp/store/redisstore"
)

// redis returns connections to one server.
func redis(t *testing.T, connections int) (all []mcp.Store) {
	t.Helper()
	url := testengine.Redis(t).URL
	for range connections {
		s, err := redisstore.Open(t.Context(), url, &redisstore.Options{Namespace: "auth", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		all = append(all, s)
	}
	return all
}

func TestReplicasAcceptAProofOnceTogetherOverAnEngine(t *testing.T) {
	t.Parallel()
	acceptOnce(t, redis(t, 1)[0])
}

// Five processes share the sign-in of a user at a server that replaces refresh tokens, and whose
// access tokens it then refuses to all at once.
func TestProcessesShareASignInOverAnEngine(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-182")
	r := newRealm(t)
	var clients []*mcpauth.Client
	for _, engine := range redis(t, 5) {
		values, err := store.Sealed(engine, mcpserver.Key{ID: "1", Secret: make([]byte, 32)})
		if err != nil {
			t.Fatal(err)
		}
		o := r.options()
		o.Store = mcpauth.SharedStore(values)
		clients = append(clients, mcpauth.NewClient(o))
	}
	callAll := func() {
		t.Helper()
		var work sync.WaitGroup
		for _, c := range clients {
			work.Go(func() {
				if status, err := r.call(c); status != http.StatusOK || err != nil {
					t.Errorf("status %d, %v", status, err)
				}
			})
		}
		work.Wait()
	}
	r.succeeds(clients[0])
	callAll()
	for refreshes := 1; refreshes <= 3; refreshes++ {
		r.kill(false)
		callAll()
		if len(r.asked) != 1 || len(r.clients) != 1 || len(r.forms) != 1+refreshes {
			t.Fatalf("%d sign-ins, %d registrations, %d token requests; want 1, 1 and %d", len(r.asked), len(r.clients), len(r.forms), 1+refreshes)
		}
	}
}
