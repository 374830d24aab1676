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

// CheckWire returns a Conn that passes messages to and from conn and fails the test if one
// is not valid in the negotiated revision. It checks params and results with the schema of
// their method, errors with the schema of their number, and that each response belongs to
// a request. Members and methods of another revision are not valid. Members and methods
// that no revision has are allowed. So are those of extensions once the client has
// declared one, unless ExpectMethod defines them.
//
// An invalid request that the other side refuses does not fail the test, because it may
// have been sent on purpose.
//
// The given side uses the returned Conn. Connect and EachRevision check their connections
// in this manner, and Dial checks the messages of the server.
func CheckWire(tb testing.TB, conn mcp.Conn, side Side, opts ...CheckOption) mcp.Conn {
	tb.Helper()
	return newMonitor(tb, opts).Conn(conn, wireSide(side))
}

// CheckHandler is like CheckWire, for a handler of Streamable HTTP or HTTP+SSE of a server.
func CheckHandler(tb testing.TB, h http.Handler, opts ...CheckOption) http.Handler {
	tb.Helper()
	return newMonitor(tb, opts).Handler(h, httpheader.SessionID)
}

// CheckTransport is like CheckWire, for a client that sends HTTP requests through rt. Nil
// means http.DefaultTransport.
func CheckTransport(tb testing.TB, rt http.RoundTripper, opts ...CheckOption) http.RoundTripper {
	tb.Helper()
	if rt == nil {
		rt = http.DefaultTransport
	}
	return newMonitor(tb, opts).Transport(rt, httpheader.SessionID)
}

// CheckOption changes what CheckWire checks.
type CheckOption func(*check)

type check struct {
	checked []wire.Side
	methods map[string]wire.Method
	schemas sync.Map // of *dialect.Facts to *wire.Schema
}

// CheckOnly checks only the messages of one side. It is for tests whose other side sends
// invalid messages.
func CheckOnly(side Side) CheckOption {
	return func(c *check) { c.checked = append(c.checked, wireSide(side)) }
}

// ExpectMethod adds a method of an extension to the schema. Params and results are values
// of the Go types that encode them; only their types are used. Nil params mean none
// besides metadata. A method without results is a notification. For a method of the
// protocol itself, the results are allowed in addition, and params is ignored.
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

// schema returns the schema of a revision. It is generated once, unless there are methods
// of extensions.
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
	return &wire.Monitor{CheckOnly: c.checked, Schemas: c.schema, Report: func(err error) {
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

// Check returns an error for the first line that CheckWire would report. An invalid
// request has to be refused by a later line.
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
