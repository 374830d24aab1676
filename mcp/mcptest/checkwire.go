package mcptest

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/wire"
)

// CheckWire returns a Conn in between that fails the test when a message that
// passes is not valid in the revision that the peers speak: params and results
// are held against the schema of their method, errors against that of their
// number, and each answer has to answer something. A member or a method that
// only another revision has is not valid either. What no revision has is let
// pass, and what extensions bring, once the client has declared any, unless
// ExpectMethod says what it looks like.
//
// A request that is not valid but was refused by the other side was sent to be
// refused: it fails nothing.
//
// Conn is the end of the given side. Connect and EachRevision check what they
// connect, and Dial what the server sends.
func CheckWire(tb testing.TB, conn mcp.Conn, side Side, opts ...CheckOption) mcp.Conn {
	tb.Helper()
	return newMonitor(tb, opts).Conn(conn, wireSide(side))
}

// CheckHandler is CheckWire for a handler of a server, be it of Streamable HTTP
// or of HTTP+SSE.
func CheckHandler(tb testing.TB, h http.Handler, opts ...CheckOption) http.Handler {
	tb.Helper()
	return newMonitor(tb, opts).Handler(h, httpheader.SessionID)
}

// CheckTransport is CheckWire for a client that speaks HTTP through the transport,
// of which nil is http.DefaultTransport.
func CheckTransport(tb testing.TB, rt http.RoundTripper, opts ...CheckOption) http.RoundTripper {
	tb.Helper()
	if rt == nil {
		rt = http.DefaultTransport
	}
	return newMonitor(tb, opts).Transport(rt, httpheader.SessionID)
}

// CheckOption adjusts what is checked.
type CheckOption func(*check)

type check struct {
	judged  []wire.Side
	methods map[string]wire.Method
	schemas sync.Map // of *dialect.Facts to *wire.Schema
}

// JudgeOnly has only the messages of one side checked. It is for tests in which
// the other side is played, and not by the rules.
func JudgeOnly(side Side) CheckOption {
	return func(c *check) { c.judged = append(c.judged, wireSide(side)) }
}

// ExpectMethod adds a method of an extension to the schema. Params and results
// are values of the Go types that encode them, of which only the type counts;
// nil params stand for none besides metadata. A method without results is a
// notification. For a method that the protocol has itself the results are further
// ones, and the params are not looked at.
func ExpectMethod(name string, params any, results ...any) CheckOption {
	return func(c *check) { c.methods[name] = wire.Method{Params: params, Results: results} }
}

func newCheck(opts []CheckOption) *check {
	c := &check{methods: make(map[string]wire.Method)}
	for _, set := range opts {
		set(c)
	}
	return c
}

// schema returns the one of a revision, which is generated once unless there are
// methods of extensions.
func (c *check) schema(f *dialect.Facts) *wire.Schema {
	if len(c.methods) == 0 {
		return wire.Strict(f)
	}
	if s, ok := c.schemas.Load(f); ok {
		return s.(*wire.Schema)
	}
	s, _ := c.schemas.LoadOrStore(f, wire.NewSchema(f, c.methods, true))
	return s.(*wire.Schema)
}

// newMonitor returns a monitor that reports to the test as long as it runs.
func newMonitor(tb testing.TB, opts []CheckOption) *wire.Monitor {
	tb.Helper()
	c := newCheck(opts)
	var mu sync.Mutex
	over := false
	tb.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
	})
	return &wire.Monitor{Judged: c.judged, Schemas: c.schema, Report: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			tb.Errorf("wire: %v", err)
		}
	}}
}

func wireSide(side Side) wire.Side {
	if side == Server {
		return wire.Server
	}
	return wire.Client
}

// Check reports the first line that is not valid, as CheckWire would. A request
// that is not valid has to be refused further down.
func (t *Transcript) Check(opts ...CheckOption) error {
	c := newCheck(opts)
	conversation := wire.NewConversation(c.schema)
	for _, l := range t.Lines {
		for _, f := range conversation.Check(wireSide(l.From), l.Message) {
			return fmt.Errorf("check: %s:%d: the %s: %w", t.Name, l.number, f.From, f.Err)
		}
	}
	for _, f := range conversation.Unanswered() {
		return fmt.Errorf("check: %s: the %s: %w", t.Name, f.From, f.Err)
	}
	return nil
}
