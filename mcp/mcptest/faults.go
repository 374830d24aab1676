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

// Faults are what a bad peer does. The zero value is a good one.
type Faults struct {
	// Seed makes the choices.
	Seed uint64
	// Duplicates has every answer come twice.
	Duplicates bool
	// Disorder has an answer wait, half of the time, until the next message has
	// overtaken it or a few milliseconds have passed.
	Disorder bool
	// Strays adds answers to requests that nobody has made.
	Strays bool
	// Delay is how long the reader takes for each message: what is written to it
	// piles up, and at last blocks who writes.
	Delay time.Duration
}

// InjectFaults returns a Conn in between whose reader meets a bad peer: what it reads
// has the faults. What it writes passes as it is. One goroutine reads at a time.
// Its Close has to be called.
func InjectFaults(conn mcp.Conn, f Faults) mcp.Conn {
	return &disturbed{
		Conn: conn, faults: f,
		random: rand.New(rand.NewPCG(f.Seed, 3)),
		pumped: make(chan []byte), closed: make(chan struct{}),
	}
}

// disorder is how long an answer waits to be overtaken.
const disorder = 5 * time.Millisecond

type disturbed struct {
	mcp.Conn
	faults Faults
	random *rand.Rand

	start, end sync.Once
	pump       sync.WaitGroup
	pumped     chan []byte // messages as they come, until err is set
	err        error
	closed     chan struct{}

	ready [][]byte
	held  [][]byte // to be overtaken
	stray int
}

// Read implements mcp.Conn.
func (d *disturbed) Read(ctx context.Context) ([]byte, error) {
	d.start.Do(func() { d.pump.Go(d.run) })
	time.Sleep(d.faults.Delay)
	for len(d.ready) == 0 {
		if err := d.next(ctx); err != nil {
			return nil, err
		}
	}
	msg := d.ready[0]
	d.ready = d.ready[1:]
	return msg, nil
}

// run brings what comes. It ends with the connection.
func (d *disturbed) run() {
	defer close(d.pumped)
	for {
		msg, err := d.Conn.Read(context.Background())
		if err != nil {
			d.err = err
			return
		}
		select {
		case d.pumped <- msg:
		case <-d.closed:
			d.err = io.ErrClosedPipe
			return
		}
	}
}

// next waits for a message, or for a held one to have waited long enough.
func (d *disturbed) next(ctx context.Context) error {
	var waited <-chan time.Time
	if d.held != nil {
		waited = time.After(disorder)
	}
	select {
	case msg, ok := <-d.pumped:
		if ok {
			d.take(msg)
			return nil
		}
		if d.held == nil {
			return d.err
		}
		d.release()
	case <-waited:
		d.release()
	case <-ctx.Done():
		return fmt.Errorf("read message: %w", ctx.Err())
	}
	return nil
}

func (d *disturbed) release() { d.ready, d.held = append(d.ready, d.held...), nil }

func (d *disturbed) take(msg []byte) {
	if !isAnswer(msg) {
		d.ready = append(d.ready, msg)
		d.release()
		return
	}
	copies := [][]byte{msg}
	if d.faults.Duplicates {
		copies = append(copies, msg)
	}
	if d.faults.Strays {
		d.ready = append(d.ready, d.strays()...)
	}
	if d.faults.Disorder && d.held == nil && d.random.IntN(2) == 0 {
		d.held = copies
		return
	}
	d.ready = append(d.ready, copies...)
	d.release()
}

// strays returns a result and an error that answer nothing.
func (d *disturbed) strays() [][]byte {
	d.stray++
	return [][]byte{
		fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"stray %d","result":{}}`, d.stray),
		fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"stray"}}`, -1_000_000-d.stray),
	}
}

// Close implements mcp.Conn.
func (d *disturbed) Close() error {
	d.end.Do(func() { close(d.closed) })
	err := d.Conn.Close()
	d.pump.Wait()
	return err
}

func isAnswer(msg []byte) bool {
	m := decode[members](jsontext.Value(msg))
	return m["method"] == nil && (m["result"] != nil || m["error"] != nil)
}

// BreakAfter returns a stream that breaks off when n bytes have been written to it: the
// frame that the last of them belongs to is only half there. Reading ends then
// too.
func BreakAfter(stream io.ReadWriteCloser, n int64) io.ReadWriteCloser {
	return &cut{ReadWriteCloser: stream, left: n}
}

type cut struct {
	io.ReadWriteCloser
	mu   sync.Mutex
	left int64
}

func (c *cut) Write(p []byte) (int, error) {
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
