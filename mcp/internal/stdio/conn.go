// Package stdio carries messages as lines: over any pair of byte streams (Conn),
// over the standard streams of this process when it is the server (TakeOver),
// and over those of a child when it is the client (Child).
//
// Spec: 2026-07-28 basic/transports#stdio
package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Options holds the limits of a Conn. Nil means all defaults, and so does the
// zero value of every field.
type Options struct {
	// MaxLine is the longest message that Read takes, in bytes. Default 16 MiB.
	// A longer one is skipped and reported as *mcp.FrameError; when no newline
	// comes within four times the limit, the connection is broken.
	MaxLine int

	// WriteTimeout bounds the time in which the peer has to take one message.
	// When it passes the connection is broken. Default 30 s.
	WriteTimeout time.Duration
}

func (o *Options) maxLine() int {
	if o == nil || o.MaxLine <= 0 {
		return 16 << 20
	}
	return o.MaxLine
}

func (o *Options) writeTimeout() time.Duration {
	if o == nil || o.WriteTimeout <= 0 {
		return 30 * time.Second
	}
	return o.WriteTimeout
}

// Conn is an mcp.Conn whose messages are lines.
//
// Read takes lines that end in LF or CRLF, ignores blank ones, and takes a last
// line that ends with the stream. After an *mcp.FrameError, an error of the
// context, and the refusal of a message with a newline the connection goes on;
// every other error of Read or Write is final. Both return io.ErrClosedPipe
// after Close.
type Conn struct {
	in     lineReader
	out    lineWriter
	closer io.Closer     // or nil
	done   chan struct{} // closed by Close
	end    func() error  // shutDown, once
}

var _ mcp.Conn = (*Conn)(nil)

// New returns a Conn that reads r and writes w.
//
// Closing it closes c, which has to end pending calls of r.Read and w.Write
// that deadlines cannot end. With a nil c that is the caller's task, and a
// goroutine may stay behind in r.Read until it returns.
//
// Streams with working deadlines (pipes, sockets, net.Conn) are read and
// written by the caller's goroutine and obey its context. For a reader without,
// the Conn keeps one goroutine; a write without cannot be cancelled once it has
// begun, and a timeout ends it by closing the Conn.
func New(r io.Reader, w io.Writer, c io.Closer, opts *Options) *Conn {
	conn := &Conn{closer: c, done: make(chan struct{})}
	conn.in = lineReader{src: newSource(r, conn.done), max: opts.maxLine()}
	conn.out = newLineWriter(w, opts.writeTimeout(), conn.done, conn.Close)
	conn.end = sync.OnceValue(conn.shutDown)
	return conn
}

// Read implements mcp.Conn.
func (c *Conn) Read(ctx context.Context) ([]byte, error) {
	msg, err := c.in.next(ctx)
	if closed(c.done) {
		err = io.ErrClosedPipe
	}
	if err == nil {
		return msg, nil
	}
	if _, ok := errors.AsType[*mcp.FrameError](err); ok || err == io.EOF {
		return nil, err
	}
	return nil, fmt.Errorf("read message: %w", err)
}

// Write implements mcp.Conn. A message must not hold a newline.
//
// When ctx ends while the peer is not reading, the message is withdrawn if
// nothing of it has gone out. Otherwise its remainder goes out before the next
// message, so that the stream stays whole.
func (c *Conn) Write(ctx context.Context, msg []byte) error {
	return c.written(c.out.write(ctx, msg))
}

// WriteAll writes several messages as Write does, in as few pieces as their size
// allows; what is withdrawn are those of one piece.
func (c *Conn) WriteAll(ctx context.Context, msgs [][]byte) error {
	return c.written(c.out.write(ctx, msgs...))
}

// written explains the error of a write.
func (c *Conn) written(err error) error {
	if err == nil {
		return nil
	}
	if closed(c.done) && !errors.Is(err, errNotReading) {
		err = io.ErrClosedPipe
	}
	return fmt.Errorf("write message: %w", err)
}

// Close implements mcp.Conn.
func (c *Conn) Close() error { return c.end() }

func (c *Conn) shutDown() error {
	close(c.done)
	c.in.src.wake()
	c.out.wake()
	if c.closer == nil {
		return nil
	}
	err := c.closer.Close()
	c.in.src.wait()
	return err
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
