package natsstore_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fondaco/fondaco/internal/testengine"
)

// cluster starts three servers with JetStream, by name.
func cluster(t *testing.T) (servers map[string]*testengine.Server, urls string) {
	t.Helper()
	routes := freeRoutes(t, 3)
	servers = make(map[string]*testengine.Server)
	var all []string
	for i, route := range routes {
		name := fmt.Sprint("server-", i)
		servers[name] = testengine.NATS(t, "-n", name, "-cluster_name", "test", "-cluster", route, "-routes", strings.Join(routes, ","))
		all = append(all, servers[name].URL)
	}
	return servers, strings.Join(all, ",")
}

// freeRoutes returns URLs with ports that nobody uses.
func freeRoutes(t *testing.T, n int) (routes []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // when each has a port of its own
		routes = append(routes, "nats://"+l.Addr().String())
	}
	return routes
}

// jetStream returns a client of its own.
func jetStream(t *testing.T, urls string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(urls)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// leader returns the name of the server that leads the stream of the values.
func leader(t *testing.T, js jetstream.JetStream) string {
	t.Helper()
	stream, err := js.Stream(t.Context(), "shop_STORE")
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().Cluster.Leader
}

// A write whose call fails may have happened, and none happens twice.
func TestClusterGoesOnWithoutItsLeader(t *testing.T) {
	t.Parallel()
	servers, urls := cluster(t)
	opts := small("shop")
	opts.Replicas = 3
	s := open(t, urls, opts)
	replaced := func() { put(t, s, "again", "other") }
	if created, err := s.CreateAgain(t.Context(), "again", []byte("value"), replaced); err != nil || !created {
		t.Errorf("a write that is sent again: got %v, %v, want it created", created, err)
	}
	want(t, s, "again", "other")
	put(t, s, "n", string(make([]byte, 8)))
	js := jetStream(t, urls)
	var done, failed uint64
	for _, end := range []func(*testengine.Server){(*testengine.Server).Stop, (*testengine.Server).Kill} {
		gone := servers[leader(t, js)]
		end(gone)
		latest := time.Now().Add(wait)
		for n := 0; n < 100; {
			err := increment(t.Context(), s)
			switch {
			case err == nil:
				done++
				n++
			case time.Now().After(latest):
				t.Fatalf("%v after the leader has gone: %v", wait, err)
			default:
				failed++
			}
		}
		gone.Start()
	}
	value, _, err := s.Get(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	if got := binary.BigEndian.Uint64(value); got < done || got > done+failed {
		t.Errorf("got %d writes, want %d, and at most %d more that have failed", got, done, failed)
	}
}
