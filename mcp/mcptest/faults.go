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
	// Disorder delays about half of the responses until after the next message, or
	// for a few milliseconds.
	Disorder bool
	// Strays adds responses to requests that were never sent.
	Strays bool
	// Delay is the time that the reader takes for each message, so that the writer
	// fills the buffers and finally blocks.
	Delay time.Duration
}

// InjectFaults returns a Conn that passes messages to and from conn and adds the faults to
// the messages that it reads. Written messages are not changed. Only one goroutine may
// read at a time. The Conn must be closed.
func InjectFaults(conn mcp.Conn, f Faults) mcp.Conn {
	return &disturbed{
		Conn: conn, faults: f,
		random: rand.New(rand.NewPCG(f.Seed, 3)),
		pumped: make(chan []byte), closed: make(chan struct{}),
	}
}

// maxDisorder is how long a response is held back at most.
const maxDisorder = 5 * time.Millisecond

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
	held  [][]byte // held back until after the next message
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

// run reads messages until the connection ends.
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

// next waits for a message, or until a held one has waited for maxDisorder.
func (d *disturbed) next(ctx context.Context) error {
	var waited <-chan time.Time
	if d.held != nil {
		waited = time.After(maxDisorder)
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

// strays returns a result and an error that belong to no request.
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

// BreakAfter returns a stream that ends after n bytes have been written to it, usually in
// the middle of a message. Reading ends then, too.
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
