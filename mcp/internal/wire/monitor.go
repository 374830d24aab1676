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

// Monitor stands between peers and reports what they say that is not valid. It
// changes nothing. Its fields are set before the first use, and it is then safe
// for concurrent use.
type Monitor struct {
	// Report takes each fault, with the message. It has to be set.
	Report func(error)
	// Judged are the sides whose messages are looked at; empty means both. Of the
	// others it is only noted what they ask.
	Judged []Side
	// Schemas returns the schema of a revision. Nil means Strict.
	Schemas func(*dialect.Facts) *Schema

	checked atomic.Int64
}

// Checked returns how many messages have been judged.
func (m *Monitor) Checked() int64 { return m.checked.Load() }

func (m *Monitor) conversation() *Conversation {
	if m.Schemas == nil {
		return NewConversation(Strict)
	}
	return NewConversation(m.Schemas)
}

func (m *Monitor) judges(from Side) bool {
	return len(m.Judged) == 0 || slices.Contains(m.Judged, from)
}

func (m *Monitor) check(c *Conversation, from Side, msg []byte) {
	if m.judges(from) {
		m.checked.Add(1)
	}
	m.report(c.Check(from, msg), msg)
}

func (m *Monitor) report(faults []Fault, msg []byte) {
	for _, f := range faults {
		if m.judges(f.From) {
			m.Report(fmt.Errorf("the %s sends what is not valid: %w\n%s", f.From, f.Err, msg))
		}
	}
}

// Conn returns a connection in between, conn being the end of the given side.
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
