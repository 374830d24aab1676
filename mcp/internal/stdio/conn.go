// Package stdio transports messages as lines: over any pair of byte streams
// (Conn), over the standard streams of this process if it is a server
// (TakeOver), and over those of a child process if it is a client (Child).
//
// Spec: 2026-07-28 basic/transports#stdio
package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Options holds the limits of a Conn. Nil means all defaults, and so does the
// zero value of every field.
type Options struct {
	// MaxLine is the maximum size of a message that Read returns, in bytes.
	// Default 16 MiB. A longer one is skipped and reported as *mcp.FrameError
	// with its first and last 4 KiB; if no newline comes within four times the
	// limit, the connection fails.
	MaxLine int

	// Setting names the client's option that sets MaxLine, for the reason of the
	// *mcp.FrameError. Empty is none, as for servers, whose peers read the reason.
	Setting string

	// WriteTimeout is the maximum time to write one message. After it the
	// connection fails. Default 30 s.
	WriteTimeout time.Duration
}

func (o *Options) maxLine() int {
	if o == nil || o.MaxLine <= 0 {
		return 16 << 20
	}
	return o.MaxLine
}

func (o *Options) setting() string {
	if o == nil {
		return ""
	}
	return o.Setting
}

func (o *Options) writeTimeout() time.Duration {
	if o == nil || o.WriteTimeout <= 0 {
		return 30 * time.Second
	}
	return o.WriteTimeout
}

// Conn is an mcp.Conn whose messages are lines.
//
// Read accepts lines that end in LF or CRLF, ignores blank ones, and accepts a
// last line without a newline. The connection can be used after an
// *mcp.FrameError, after an error of the context, and after Write has refused a
// message with a newline; every other error of Read or Write is final. Both
// return io.ErrClosedPipe after Close.
type Conn struct {
	in     lineReader
	out    lineWriter
	w      io.Writer     // that out writes to
	closer io.Closer     // or nil
	done   chan struct{} // closed by Close
	end    func() error  // shutDown, once
}

var _ mcp.Conn = (*Conn)(nil)

// New returns a Conn that reads r and writes w.
//
// Close closes c, which must end pending calls of r.Read and w.Write if they
// have no deadlines. If c is nil, the caller must end them; a goroutine may
// remain in r.Read until it returns.
//
// Streams with deadlines (pipes, sockets, net.Conn) are read and written on the
// caller's goroutine, and its context cancels them. For a reader without
// deadlines, the Conn runs one goroutine. A write without deadlines cannot be
// cancelled once it has begun, and a timeout closes the Conn.
func New(r io.Reader, w io.Writer, c io.Closer, opts *Options) *Conn {
	conn := &Conn{w: w, closer: c, done: make(chan struct{})}
	conn.in = lineReader{src: newSource(r, conn.done), max: opts.maxLine(), setting: opts.setting()}
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

// Write implements mcp.Conn. A message must not contain a newline.
//
// If ctx ends while the peer is not reading, the message is discarded if none
// of its bytes were written. Otherwise its remainder is written before the next
// message, so that the stream stays valid.
func (c *Conn) Write(ctx context.Context, msg []byte) error {
	return c.writeError(c.out.write(ctx, msg))
}

// WriteAll writes several messages as Write does, in as few system calls as
// their size allows. If ctx ends, the messages of a call that wrote nothing are
// discarded.
func (c *Conn) WriteAll(ctx context.Context, msgs [][]byte) error {
	return c.writeError(c.out.write(ctx, msgs...))
}

// writeError adds the cause to the error of a write.
func (c *Conn) writeError(err error) error {
	if err == nil {
		return nil
	}
	if closed(c.done) && !errors.Is(err, errNotReading) {
		err = io.ErrClosedPipe
	}
	return fmt.Errorf("write message: %w", err)
}

// IsHungUp reports whether the peer has closed the stream that is written to, where the system can
// tell.
func (c *Conn) IsHungUp() (hungUp bool) {
	stream, ok := c.w.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := stream.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) { hungUp = isHungUp(fd) })
	}
	return hungUp
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
	if _, panicked := errors.AsType[*usercode.Panic](err); !panicked { // it may have left a Read pending
		c.in.src.wait()
	}
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
