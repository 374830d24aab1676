package mcptest

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Faults are the faults of a peer. The zero value has none.
type Faults struct {
	// Seed is the seed of the random choices.
	Seed uint64
	// Duplicates delivers every response twice.
	Duplicates bool
	// Reorder delays about half of the responses until after the next message, or
	// for a few milliseconds.
	Reorder bool
	// UnknownResponses adds responses to requests that were never sent.
	UnknownResponses bool
	// Delay is the time that the reader takes for each message, so that the writer
	// fills the buffers and finally blocks.
	Delay time.Duration
}

// InjectFaults returns a Conn that passes messages to and from conn and adds the faults to
// the messages that it reads. Written messages are not changed. Only one goroutine may
// read at a time. The Conn must be closed.
func InjectFaults(conn mcp.Conn, f Faults) mcp.Conn {
	return &faultyConn{
		Conn: conn, faults: f,
		random: rand.New(rand.NewPCG(f.Seed, 3)),
		pumped: make(chan []byte), closed: make(chan struct{}),
	}
}

// maxReorder is the maximum time for which a response is held back.
const maxReorder = 5 * time.Millisecond

// faultyConn is the Conn of InjectFaults.
type faultyConn struct {
	mcp.Conn
	faults Faults
	random *rand.Rand

	start, end sync.Once
	pump       sync.WaitGroup
	pumped     chan []byte // messages in the order of their arrival; closed once err is set
	err        error
	closed     chan struct{}

	ready [][]byte
	held  [][]byte // held back until after the next message
	stray int
}

// Read implements mcp.Conn.
func (c *faultyConn) Read(ctx context.Context) ([]byte, error) {
	c.start.Do(func() { c.pump.Go(c.run) })
	time.Sleep(c.faults.Delay)
	for len(c.ready) == 0 {
		if err := c.next(ctx); err != nil {
			return nil, err
		}
	}
	msg := c.ready[0]
	c.ready = c.ready[1:]
	return msg, nil
}

// run reads messages until the connection ends.
func (c *faultyConn) run() {
	defer close(c.pumped)
	for {
		msg, err := c.Conn.Read(context.Background())
		if err != nil {
			c.err = err
			return
		}
		select {
		case c.pumped <- msg:
		case <-c.closed:
			c.err = io.ErrClosedPipe
			return
		}
	}
}

// next waits for a message, or until a held one has waited for maxReorder.
func (c *faultyConn) next(ctx context.Context) error {
	var waited <-chan time.Time
	if c.held != nil {
		waited = time.After(maxReorder)
	}
	select {
	case msg, ok := <-c.pumped:
		if ok {
			c.take(msg)
			return nil
		}
		if c.held == nil {
			return c.err
		}
		c.release()
	case <-waited:
		c.release()
	case <-ctx.Done():
		return fmt.Errorf("read message: %w", ctx.Err())
	}
	return nil
}

func (c *faultyConn) release() { c.ready, c.held = append(c.ready, c.held...), nil }

func (c *faultyConn) take(msg []byte) {
	if !isAnswer(msg) {
		c.ready = append(c.ready, msg)
		c.release()
		return
	}
	copies := [][]byte{msg}
	if c.faults.Duplicates {
		copies = append(copies, msg)
	}
	if c.faults.UnknownResponses {
		c.ready = append(c.ready, c.strays()...)
	}
	if c.faults.Reorder && c.held == nil && c.random.IntN(2) == 0 {
		c.held = copies
		return
	}
	c.ready = append(c.ready, copies...)
	c.release()
}

// strays returns a result and an error that belong to no request.
func (c *faultyConn) strays() [][]byte {
	c.stray++
	return [][]byte{
		fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"stray %d","result":{}}`, c.stray),
		fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"stray"}}`, -1_000_000-c.stray),
	}
}

// Close implements mcp.Conn.
func (c *faultyConn) Close() error {
	c.end.Do(func() { close(c.closed) })
	err := c.Conn.Close()
	c.pump.Wait()
	return err
}

func isAnswer(msg []byte) bool {
	m := decode[members](jsontext.Value(msg))
	return m["method"] == nil && (m["result"] != nil || m["error"] != nil)
}

// BreakAfter returns a stream that ends after n bytes have been written to it, usually in
// the middle of a message. Reading ends then, too.
func BreakAfter(stream io.ReadWriteCloser, n int64) io.ReadWriteCloser {
	return &breakingStream{ReadWriteCloser: stream, left: n}
}

// breakingStream is the stream of BreakAfter.
type breakingStream struct {
	io.ReadWriteCloser
	mu   sync.Mutex
	left int64
}

func (c *breakingStream) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if int64(len(p)) <= c.left {
		c.left -= int64(len(p))
		return c.ReadWriteCloser.Write(p)
	}
	n, err := c.ReadWriteCloser.Write(p[:c.left])
	c.left = 0
	_ = c.Close()
	if err == nil {
		err = io.ErrClosedPipe
	}
	return n, err
}
