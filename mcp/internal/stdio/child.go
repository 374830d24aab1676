package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
)

// exitGrace is the time that a server may take to exit after it has closed its
// streams.
const exitGrace = time.Second

// ChildOptions adjusts a Child. Nil means all defaults.
type ChildOptions struct {
	// Conn holds the limits on messages.
	Conn *Options

	// Process holds the options for monitoring and stopping the child.
	Process *spawn.Options

	// Logger logs output of the server that is not a message, at most once a
	// second. Nil discards it.
	Logger *slog.Logger
}

func (o *ChildOptions) conn() *Options {
	if o == nil {
		return nil
	}
	return o.Conn
}

func (o *ChildOptions) process() *spawn.Options {
	if o == nil {
		return nil
	}
	return o.Process
}

func (o *ChildOptions) logger() *slog.Logger {
	if o == nil || o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// Child is an mcp.Conn to a server in a child process.
//
// Output of the server that is not a message is skipped. If a megabyte comes
// before the first message, or a frame of a language server, every Read fails. After the server has exited, Read and Write return an
// error that wraps a *spawn.ExitError.
type Child struct {
	lines   *Conn
	process *spawn.Process
	stray   strayOutput

	exitGrace  time.Duration
	outputRead func()        // called when standard output was read to its end
	outputEnd  chan struct{} // closed by outputRead

	closing   sync.Once
	reporting sync.Once
	lastLines []string // see LastLines
}

var _ mcp.Conn = (*Child)(nil)

// Start runs the command and returns the connection to it.
func Start(c spawn.Command, opts *ChildOptions) (*Child, error) {
	p, err := spawn.Start(c, opts.process())
	if err != nil {
		return nil, err
	}
	child := &Child{
		lines:     New(p, p, p, opts.conn()),
		process:   p,
		stray:     strayOutput{log: opts.logger()},
		exitGrace: exitGrace,
		outputEnd: make(chan struct{}),
	}
	child.outputRead = sync.OnceFunc(func() { close(child.outputEnd) })
	return child, nil
}

// Process returns the server's process.
func (c *Child) Process() *spawn.Process { return c.process }

// Read implements mcp.Conn.
func (c *Child) Read(ctx context.Context) ([]byte, error) {
	for {
		msg, err := c.lines.Read(ctx)
		if err == io.EOF {
			c.outputRead()
			err = c.explain(ctx, err)
		}
		if err != nil || c.stray.isMessage(msg) {
			return msg, err
		}
		if c.stray.err != nil {
			return nil, c.stray.err
		}
	}
}

// Write implements mcp.Conn. When the server has exited it lets a concurrent Read read
// what the server wrote before, for up to a second.
func (c *Child) Write(ctx context.Context, msg []byte) error {
	err := c.lines.Write(ctx, msg)
	if _, ok := errors.AsType[*os.PathError](err); ok { // the pipe is broken
		grace := time.NewTimer(c.exitGrace)
		defer grace.Stop()
		select {
		case <-c.outputEnd:
		case <-grace.C:
		case <-ctx.Done():
		}
		err = c.explain(ctx, err)
	}
	return err
}

// Close implements mcp.Conn. It stops the server in steps, see
// spawn.Process.Close.
func (c *Child) Close() error {
	c.closing.Do(func() { c.lastLines = c.process.LastLines() })
	err := c.lines.Close()
	c.reporting.Do(func() {
		if name := c.process.LeftContainer(); name != "" {
			c.stray.log.Warn("the program did not end and was killed; its container may still run", "container", name)
		}
	})
	return err
}

// LastLines returns the last lines on standard error, as spawn.ExitError.LastLines does, at the
// time of the first Close: without what the server says about its own end. Call it after Close.
func (c *Child) LastLines() []string { return c.lastLines }

// explain replaces the error of a broken stream by the server's exit error, if
// it has exited.
func (c *Child) explain(ctx context.Context, err error) error {
	grace := time.NewTimer(c.exitGrace)
	defer grace.Stop()
	select {
	case <-c.process.Done():
	case <-grace.C:
		return err
	case <-ctx.Done():
		return err
	}
	return fmt.Errorf("server %w", c.process.Exit())
}

// StrayLines returns the first lines that the server printed on standard output and that
// are not messages, quoted and truncated, and the number of all such lines. Call it only
// after Close, when no Read is under way.
func (c *Child) StrayLines() (first []string, count int) { return c.stray.first, c.stray.count }
