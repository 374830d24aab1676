package mcptest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Connect returns a client that is connected to the server in memory. It is closed when
// the test ends. The options o may be nil. A client without handlers for questions answers
// them with the answers of Answer. The messages of both sides are checked as by CheckWire,
// with the options opts.
func Connect(tb testing.TB, s mcpclient.Server, o *mcpclient.Options, opts ...CheckOption) *mcpclient.Client {
	tb.Helper()
	b, own := new(answerTable), mcpclient.Options{}
	if o != nil {
		own = *o
	}
	answers := b.handlers(&own)
	c := connect(tb, mcpclient.Conn(CheckWire(tb, dial(tb, s), Client, opts...)), &own)
	if answers {
		answerTables.Store(c, b)
		tb.Cleanup(func() { answerTables.Delete(c) })
	}
	return c
}

// EachRevision runs a test once per revision, as a subtest with the name of the revision,
// with a client of that revision as Connect returns it.
func EachRevision(t *testing.T, s mcpclient.Server, test func(t *testing.T, c *mcpclient.Client), opts ...CheckOption) {
	t.Helper()
	for _, v := range mcp.Revisions() {
		t.Run(v.String(), func(t *testing.T) {
			test(t, Connect(t, s, &mcpclient.Options{Revisions: []mcp.Revision{v}}, opts...))
		})
	}
}

// Dial serves one connection in memory and returns the client's end of it. It is closed
// when the test ends; an error of Serve fails the test. The messages of the server are
// checked as by CheckWire, with the options.
func Dial(tb testing.TB, s mcpclient.Server, opts ...CheckOption) mcp.Conn {
	tb.Helper()
	return CheckWire(tb, dial(tb, s), Client, append(slices.Clone(opts), CheckOnly(Server))...)
}

func dial(tb testing.TB, s mcpclient.Server) mcp.Conn {
	tb.Helper()
	ours, theirs := memory.Pair()
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background(), theirs) }()
	tb.Cleanup(func() {
		_ = ours.Close()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			tb.Errorf("serve: %v", err)
		}
	})
	return ours
}

func connect(tb testing.TB, target mcpclient.Target, o *mcpclient.Options) *mcpclient.Client {
	tb.Helper()
	c, err := mcpclient.Connect(context.WithoutCancel(tb.Context()), target, o)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close the client: %v", err)
		}
	})
	return c
}
