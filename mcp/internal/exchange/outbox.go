package exchange

import (
	"context"
	"runtime"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// BatchConn is an mcp.Conn that writes several messages with less effort than one
// after the other.
type BatchConn interface {
	mcp.Conn
	// WriteAll is Write for several messages, in order.
	WriteAll(ctx context.Context, msgs [][]byte) error
}

// outbox writes the replies of one connection. Replies that are ready at the same
// time go out in one piece, and none waits for another that is not. Their number
// and size are bounded by what may be unwritten.
type outbox struct {
	conn      mcp.Conn
	unwritten *unwritten
	failed    func(error) // told of an error of the connection

	mu      sync.Mutex
	ready   [][]byte
	spare   [][]byte // used, empty
	writing bool     // somebody is
}

// put has a reply written, by the caller or by whoever is writing.
func (o *outbox) put(reply []byte) {
	o.unwritten.queued(len(reply))
	o.mu.Lock()
	o.ready = append(o.ready, reply)
	mine := !o.writing
	o.writing = true
	o.mu.Unlock()
	if !mine {
		return
	}
	// Requests that came in one piece are answered in one: those that only have to
	// be given the processor get it first.
	runtime.Gosched()
	for batch := o.take(); batch != nil; batch = o.take() {
		o.write(batch)
	}
}

// take returns the replies that are ready, or nil when there are none, and then
// nobody is writing.
func (o *outbox) take() [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.ready) == 0 {
		o.writing = false
		return nil
	}
	batch := o.ready
	o.ready, o.spare = o.spare, nil
	return batch
}

func (o *outbox) write(batch [][]byte) {
	if err := o.send(batch); err != nil {
		o.failed(err)
	}
	size := 0
	for _, reply := range batch {
		size += len(reply)
	}
	o.unwritten.written(len(batch), size)
	clear(batch)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spare = batch[:0]
}

// send writes a batch. Nothing but the end of the connection interrupts it.
func (o *outbox) send(batch [][]byte) error {
	if c, ok := o.conn.(BatchConn); ok {
		return c.WriteAll(context.Background(), batch)
	}
	for _, reply := range batch {
		if err := o.conn.Write(context.Background(), reply); err != nil {
			return err
		}
	}
	return nil
}
