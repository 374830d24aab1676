package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/hooktest"
	"github.com/fondaco/fondaco/mcp/internal/jsontest"
	"github.com/fondaco/fondaco/mcp/internal/wiretest"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// eras are one revision of each era, for what has to be the same in both.
var eras = []mcp.Revision{mcp.V20251125, mcp.V20260728}

// revisions are all, oldest first.
var revisions = []mcp.Revision{mcp.V20241105, mcp.V20250326, mcp.V20250618, mcp.V20251125, mcp.V20260728}

// eachEra runs a test once for each era, in fake time.
func eachEra(t *testing.T, test func(t *testing.T, r mcp.Revision)) {
	eachOf(t, eras, test)
}

func eachOf(t *testing.T, all []mcp.Revision, test func(t *testing.T, r mcp.Revision)) {
	t.Helper()
	t.Parallel()
	for _, r := range all {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, r) })
		})
	}
}

// newServer returns a server that logs nothing.
func newServer(o *mcpserver.Options) *mcpserver.Server {
	if o == nil {
		o = new(mcpserver.Options)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return mcpserver.New("test", "1", o)
}

// wire is the client's end of a connection to a server, in raw JSON.
type wire struct {
	wiretest.Client

	served chan error // the error of Serve
}

// message is one message of the server.
type message = wiretest.Message

// connect serves one connection, on which nothing was sent, until the test ends.
func connect(t *testing.T, srv *mcpserver.Server) *wire {
	t.Helper()
	ours, theirs := pipe(t)
	return attach(t, srv, ours, theirs)
}

func attach(t *testing.T, srv *mcpserver.Server, ours, theirs mcp.Conn) *wire {
	w := &wire{Client: wiretest.Client{T: t, Conn: ours}, served: make(chan error, 1)}
	go func() { w.served <- srv.Serve(context.Background(), theirs) }()
	t.Cleanup(func() {
		_ = ours.Close()
		if err := <-w.served; err != nil && !errors.Is(err, mcpserver.ErrShutdown) {
			t.Errorf("serve: %v", err)
		}
		w.served <- nil
	})
	return w
}

// dial connects a client that speaks a revision and has made itself known.
func dial(t *testing.T, srv *mcpserver.Server, r mcp.Revision) *wire {
	t.Helper()
	return dialAs(t, srv, r, `{}`)
}

// dialAs is dial for a client that declares capabilities.
func dialAs(t *testing.T, srv *mcpserver.Server, r mcp.Revision, capabilities string) *wire {
	t.Helper()
	w := connect(t, srv)
	w.Initialize(r, capabilities)
	return w
}

// These functions have short names in the tests of this package.
var (
	at, canonical, same = jsontest.At, jsontest.Canonical, jsontest.Equal
	isModern, withMeta  = wiretest.Stateless, wiretest.WithMeta
	panicText           = hooktest.PanicText
)

func decoded[T any](t *testing.T, raw jsontext.Value) T {
	t.Helper()
	return jsontest.Decode[T](t, raw)
}

// encoded encodes a value.
func encoded(t *testing.T, v any) jsontext.Value {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode %v: %v", v, err)
	}
	return raw
}
