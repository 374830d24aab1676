package mcptest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Peer is what a test connects to:
//
//   - an mcpclient.Server, such as *mcpserver.Server, which is served in memory,
//   - an mcpclient.Target, such as mcpclient.Command or mcpclient.URL,
//   - an http.Handler, which is served as by HTTP.
type Peer any

// Connect returns a client that is connected to the peer. It is closed when the test ends.
// The options o may be nil. A client without handlers for questions answers them with the
// answers of Answer.
//
// The messages of both sides are checked as by CheckWire, with the options opts, in memory
// and over HTTP; those of other targets are not. The test may shut a server down.
func Connect(tb testing.TB, p Peer, o *mcpclient.Options, opts ...CheckOption) *mcpclient.Client {
	tb.Helper()
	b, own := new(answerTable), mcpclient.Options{}
	if o != nil {
		own = *o
	}
	answers := b.handlers(&own)
	c := connect(tb, targetOf(tb, p, &own, opts), &own)
	if answers {
		answerTables.Store(c, b)
		tb.Cleanup(func() { answerTables.Delete(c) })
	}
	return c
}

// targetOf returns the target of a peer. It changes the options so that messages over HTTP
// are checked.
func targetOf(tb testing.TB, p Peer, o *mcpclient.Options, opts []CheckOption) mcpclient.Target {
	tb.Helper()
	if s, ok := p.(mcpclient.Server); ok {
		return mcpclient.Conn(CheckWire(tb, dial(tb, s), Client, opts...))
	}
	sender := new(http.Client)
	if o.HTTP.Client != nil {
		*sender = *o.HTTP.Client
	}
	sender.Transport = CheckTransport(tb, sender.Transport, opts...)
	o.HTTP.Client = sender
	switch p := p.(type) {
	case mcpclient.Target:
		return p
	case http.Handler:
		return mcpclient.URL(HTTP(tb, p))
	}
	tb.Fatalf("connect: found a %T, want an mcpclient.Server, an mcpclient.Target or an http.Handler", p)
	return nil
}

// EachOption changes how EachRevision connects: a CheckOption, or ClientOptions.
type EachOption interface{ applyTo(*eachOptions) }

type eachOptions struct {
	client *mcpclient.Options
	checks []CheckOption
}

func (o CheckOption) applyTo(all *eachOptions) { all.checks = append(all.checks, o) }

// ClientOptions makes EachRevision connect with the options of a client. If they have
// Revisions, the test runs in these alone.
func ClientOptions(o *mcpclient.Options) EachOption { return clientOptions{o} }

type clientOptions struct{ *mcpclient.Options }

func (o clientOptions) applyTo(all *eachOptions) { all.client = o.Options }

// EachRevision runs a test once per revision, as a subtest with the name of the revision,
// with a client of that revision as Connect returns it.
func EachRevision(t *testing.T, p Peer, test func(t *testing.T, c *mcpclient.Client), opts ...EachOption) {
	t.Helper()
	var all eachOptions
	for _, o := range opts {
		o.applyTo(&all)
	}
	revisions := mcp.Revisions()
	if all.client != nil && len(all.client.Revisions) > 0 {
		revisions = all.client.Revisions
	}
	for _, v := range revisions {
		t.Run(v.String(), func(t *testing.T) {
			var o mcpclient.Options
			if all.client != nil {
				o = *all.client
			}
			o.Revisions = []mcp.Revision{v}
			test(t, Connect(t, p, &o, all.checks...))
		})
	}
}

// Dial serves one connection in memory and returns the client's end of it. It is closed
// when the test ends; an error of Serve other than ErrShutdown fails the test. The messages of the server are
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
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, mcpserver.ErrShutdown) {
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
