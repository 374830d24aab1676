// Package memory connects two peers of one process.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// capacity is the maximum number of unread messages in each direction.
const capacity = 64

// Pair returns two connected ends: what is written to one is read from the
// other, in order and copied. A Write waits while 64 messages are unread.
//
// After one end is closed, the other can still read the messages that were
// written before, and then reads io.EOF; its writes fail. After its own Close
// an end returns io.ErrClosedPipe. The pair has no goroutines and is garbage
// collected without Close.
func Pair() (a, b mcp.Conn) {
	left := &end{in: make(chan []byte, capacity), closed: make(chan struct{})}
	right := &end{in: make(chan []byte, capacity), closed: make(chan struct{})}
	left.peer, right.peer = right, left
	return left, right
}

// end is one end of a Pair.
type end struct {
	in     chan []byte
	peer   *end
	closed chan struct{}
	once   sync.Once
}

// Read implements mcp.Conn.
func (e *end) Read(ctx context.Context) ([]byte, error) {
	if err := e.usable(ctx); err != nil {
		return nil, fmt.Errorf("read message: %w", err)
	}
	select {
	case msg := <-e.in:
		return msg, nil
	case <-e.peer.closed:
		return e.last()
	case <-e.closed:
		return nil, fmt.Errorf("read message: %w", io.ErrClosedPipe)
	case <-ctx.Done():
		return nil, fmt.Errorf("read message: %w", ctx.Err())
	}
}

// last returns a message that the peer wrote before it closed, or io.EOF.
func (e *end) last() ([]byte, error) {
	select {
	case msg := <-e.in:
		return msg, nil
	default:
		return nil, io.EOF
	}
}

// Write implements mcp.Conn.
func (e *end) Write(ctx context.Context, msg []byte) error {
	if err := e.send(ctx, msg); err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	return nil
}

func (e *end) send(ctx context.Context, msg []byte) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if isClosed(e.peer.closed) {
		return io.ErrClosedPipe
	}
	select {
	case e.peer.in <- bytes.Clone(msg):
		return nil
	case <-e.peer.closed:
		return io.ErrClosedPipe
	case <-e.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// usable checks first whether the end is closed or ctx has ended, because a
// select with other ready channels might choose those.
func (e *end) usable(ctx context.Context) error {
	if isClosed(e.closed) {
		return io.ErrClosedPipe
	}
	return ctx.Err()
}

// Close implements mcp.Conn.
func (e *end) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
