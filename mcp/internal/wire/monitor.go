package wire

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Monitor validates the messages between peers and reports invalid ones. It
// changes nothing. Set its fields before the first use; it is then safe for
// concurrent use.
type Monitor struct {
	// Report is called with each fault and its message. It must be set.
	Report func(error)
	// CheckOnly are the sides whose messages are validated; empty means both.
	// Requests of the other side are only tracked.
	CheckOnly []Side
	// Schemas returns the schema of a revision. Nil means Strict.
	Schemas func(*dialect.Facts) *Schema

	checked atomic.Int64
}

// Checked returns the number of validated messages.
func (m *Monitor) Checked() int64 { return m.checked.Load() }

func (m *Monitor) conversation() *Conversation {
	if m.Schemas == nil {
		return NewConversation(Strict)
	}
	return NewConversation(m.Schemas)
}

func (m *Monitor) checks(from Side) bool {
	return len(m.CheckOnly) == 0 || slices.Contains(m.CheckOnly, from)
}

func (m *Monitor) check(c *Conversation, from Side, msg []byte) {
	if m.checks(from) {
		m.checked.Add(1)
	}
	m.report(c.Check(from, msg), msg)
}

func (m *Monitor) report(faults []Fault, msg []byte) {
	for _, f := range faults {
		if m.checks(f.From) {
			m.Report(fmt.Errorf("the %s sent an invalid message: %w\n%s", f.From, f.Err, msg))
		}
	}
}

// Conn returns a connection that wraps conn, the end of the given side, and
// validates its messages.
func (m *Monitor) Conn(conn mcp.Conn, end Side) mcp.Conn {
	return &monitored{Conn: conn, monitor: m, conversation: m.conversation(), end: end}
}

type monitored struct {
	mcp.Conn
	monitor      *Monitor
	conversation *Conversation
	end          Side
	closed       atomic.Bool
}

// Read implements mcp.Conn.
func (c *monitored) Read(ctx context.Context) ([]byte, error) {
	msg, err := c.Conn.Read(ctx)
	if err == nil {
		c.monitor.check(c.conversation, c.end.other(), msg)
	}
	return msg, err
}

// Write implements mcp.Conn.
func (c *monitored) Write(ctx context.Context, msg []byte) error {
	c.monitor.check(c.conversation, c.end, bytes.Clone(msg)) // before any answer to it
	return c.Conn.Write(ctx, msg)
}

// Close implements mcp.Conn.
func (c *monitored) Close() error {
	if !c.closed.Swap(true) {
		c.monitor.report(c.conversation.Unanswered(), nil)
	}
	return c.Conn.Close()
}
