package pgstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/internal/testdir"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/mcp/store/pgstore"
)

func TestMain(m *testing.M) {
	testdir.Prepare() // PostgreSQL has a user of its own, who must reach its files
	mcptest.Main(m)
}

var namespaces atomic.Int32

// newNamespace returns a namespace that no other test uses.
func newNamespace() string { return fmt.Sprintf("test-%d", namespaces.Add(1)) }

// open opens a Store that is closed at the end of the test.
func open(t *testing.T, url string, opts *pgstore.Options) *pgstore.Store {
	t.Helper()
	s, err := pgstore.Open(t.Context(), url, quiet(opts))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// quiet returns options whose log goes nowhere if opts has no other one.
func quiet(opts *pgstore.Options) *pgstore.Options {
	var o pgstore.Options
	if opts != nil {
		o = *opts
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &o
}

// two opens the Stores of two replicas at the same time, with a new namespace.
func two(t *testing.T, url string) (one, other *pgstore.Store) {
	t.Helper()
	namespace := newNamespace()
	var stores [2]*pgstore.Store
	var errs [2]error
	done := make(chan struct{})
	for i := range stores {
		go func() {
			defer func() { done <- struct{}{} }()
			stores[i], errs[i] = pgstore.Open(context.WithoutCancel(t.Context()), url, quiet(&pgstore.Options{Namespace: namespace, MaxConns: 3}))
		}()
	}
	<-done
	<-done
	for i := range stores {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		t.Cleanup(func() { stores[i].Close() })
	}
	return stores[0], stores[1]
}
