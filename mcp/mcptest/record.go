package mcptest

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// Recorder is a Conn that records the messages it passes. Record makes one.
type Recorder struct {
	conn mcp.Conn
	side Side

	mu    sync.Mutex
	lines []Line
	note  string // of the next line
}

var _ mcp.Conn = (*Recorder)(nil)

// Record returns a Conn that passes messages to and from conn and records them. The given
// side uses it.
func Record(conn mcp.Conn, side Side) *Recorder { return &Recorder{conn: conn, side: side} }

// Read implements mcp.Conn.
func (r *Recorder) Read(ctx context.Context) ([]byte, error) {
	msg, err := r.conn.Read(ctx)
	if err == nil {
		r.add(r.side.other(), msg)
	}
	return msg, err
}

// Write implements mcp.Conn.
func (r *Recorder) Write(ctx context.Context, msg []byte) error {
	r.add(r.side, msg) // before a response can be read
	return r.conn.Write(ctx, msg)
}

// Close implements mcp.Conn.
func (r *Recorder) Close() error { return r.conn.Close() }

// Note adds a remark above the next message.
func (r *Recorder) Note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note = text
}

// Transcript returns a transcript of the messages until now.
func (r *Recorder) Transcript() *Transcript {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Transcript{Name: "recorded", Lines: slices.Clone(r.lines)}
}

func (r *Recorder) add(from Side, msg []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, Line{Note: r.note, From: from, Message: bytes.Clone(msg)})
	r.note = ""
}

func (s Side) other() Side {
	if s == Client {
		return Server
	}
	return Client
}
