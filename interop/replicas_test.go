package interop_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// replicaKeys are the keys of all replicas.
var replicaKeys = []mcpserver.Key{{ID: "1", Secret: []byte(strings.Repeat("k", 32))}}

// serveReplicas serves three fixtures with the same options at one address. Each request goes to
// one of them, at random.
func serveReplicas(t *testing.T, o *mcpserver.Options) server {
	t.Helper()
	var replicas []*mcpserver.Server
	for range 3 {
		replicas = append(replicas, mcptest.NewServer(o))
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		replicas[rand.N(len(replicas))].HTTPHandler().ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		for _, srv := range replicas {
			if err := srv.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}
		web.Close()
	})
	return server{addr: strings.TrimPrefix(web.URL, "http://")}
}

// A failure here means that clients of another SDK need sticky sessions.
func TestForeignClientsUseReplicasInAnyOrder(t *testing.T) {
	needPeers(t)
	t.Parallel()
	visitReplicas(t, serveReplicas(t, &mcpserver.Options{Keys: replicaKeys}), replicaPlan)
}

// A failure here means that clients of another SDK need sticky sessions although the replicas
// share a Store and a Bus.
func TestForeignClientsUseEverythingAtAnyReplica(t *testing.T) {
	needPeers(t)
	t.Parallel()
	visitReplicas(t, serveReplicas(t, &mcpserver.Options{
		Keys: replicaKeys, Store: new(mcpserver.MemoryStore), Bus: new(mcpserver.MemoryBus),
	}), sharedPlan)
}

// visitReplicas runs a plan with every foreign client.
func visitReplicas(t *testing.T, replicas server, p func() plan) {
	for _, c := range foreignClients {
		if c.over == "http" {
			t.Run(c.String(), func(t *testing.T) { c.visit(t, replicas, p(), nil) })
		}
	}
	for _, v := range versions {
		if revision, ok := v.clients["http"]; ok {
			t.Run(v.String(), func(t *testing.T) {
				caller{v.sdk, "http", revision}.visit(t, replicas, p(), v.lacking("client", "http"))
			})
		}
	}
}
