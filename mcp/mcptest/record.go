package mcptest

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// Recorder is a Conn in between, which keeps what passes. Record makes one.
type Recorder struct {
	conn mcp.Conn
	side Side

	mu    sync.Mutex
	lines []Line
	note  string // of the next line
}

var _ mcp.Conn = (*Recorder)(nil)

// Record returns a Conn that records what passes through conn, the end of the
// given side.
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
	r.add(r.side, msg) // before any answer to it
	return r.conn.Write(ctx, msg)
}

// Close implements mcp.Conn.
func (r *Recorder) Close() error { return r.conn.Close() }

// Note puts a remark above the next message.
func (r *Recorder) Note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note = text
}

// Transcript returns what has passed so far.
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
