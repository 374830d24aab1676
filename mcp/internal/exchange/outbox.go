package exchange

import (
	"context"
	"runtime"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// BatchConn is an mcp.Conn that writes several messages more cheaply together than one by one.
type BatchConn interface {
	mcp.Conn
	// WriteAll is Write for several messages, in order.
	WriteAll(ctx context.Context, msgs [][]byte) error
}

// outbox writes the replies of one connection. Replies that are ready at the same time are
// written together; no reply waits for one that is not ready. The limits of unwritten bound
// their number and size.
type outbox struct {
	conn      mcp.Conn
	unwritten *unwritten
	failed    func(error) // called with the error of a write

	mu      sync.Mutex
	ready   [][]byte
	spare   [][]byte // used, empty
	writing bool     // a goroutine is writing
}

// put writes a reply, or leaves it to the goroutine that is writing.
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
	// Requests that were read together are answered together: handlers that are ready to
	// run get the processor before the write.
	runtime.Gosched()
	for batch := o.take(); batch != nil; batch = o.take() {
		o.write(batch)
	}
}

// take returns the replies that are ready. If there are none it returns nil and ends the
// writing.
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
