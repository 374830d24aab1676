package interop_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/host/demo"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A failure here means that programs written with another SDK cannot use a
// server written with this one.
func TestForeignClientsUseEveryFeatureOfAServer(t *testing.T) {
	needPeers(t)
	t.Parallel()
	fixture := server{serveFixture(t), program("fixture")}
	for _, c := range foreignClients {
		t.Run(c.String(), func(t *testing.T) {
			c.visit(t, fixture, fixturePlan(slug(c.String())), nil)
		})
	}
}

// serveFixture serves the fixture over HTTP and returns its address.
func serveFixture(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		done <- mcptest.NewServer(nil).ListenAndServe(ctx, "127.0.0.1:0", func(a net.Addr) { ready <- a })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve the fixture: %v", err)
		}
	})
	return (<-ready).String()
}

// serveDemoOnSocket serves the demonstration on a unix socket and returns its
// path.
func serveDemoOnSocket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sock") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "demo")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	srv, stop := demo.New()
	done := make(chan error, 1)
	go func() { done <- srv.ServeSocket(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve the demonstration: %v", err)
		}
		stop()
		_ = os.RemoveAll(dir)
	})
	return path
}
