package exchange

import (
	"context"
	"runtime"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
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

	unsent *UnsentLimit // counts the large replies; nil is unbounded
	owner  limit.Owner  // of the connection
	evict  func()       // ends the connection to make room for the replies of others; does not block

	mu      sync.Mutex
	ready   [][]byte
	spare   [][]byte     // used, empty
	writing bool         // a goroutine is writing
	large   int          // bytes of the large replies that are not written
	place   *UnsentPlace // for large; nil while that is 0
}

// EvictUnsent implements UnsentHolder.
func (o *outbox) EvictUnsent() { o.evict() }

// reserve takes room for a reply that is about to be put. It fails if too much is unsent and
// no other owner has more; the reply must not be put then.
func (o *outbox) reserve(size int) error {
	if size <= LargeResult || o.unsent == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var err error
	if o.place == nil {
		o.place, err = o.unsent.Take(o.owner, size, o)
	} else {
		err = o.place.Resize(o.large + size)
	}
	if err == nil {
		o.large += size
	}
	return err
}

// releaseLocked gives the room of written replies back. The caller holds mu.
func (o *outbox) releaseLocked(batch [][]byte) {
	if o.large == 0 {
		return
	}
	for _, reply := range batch {
		if len(reply) > LargeResult {
			o.large -= len(reply)
		}
	}
	if o.large > 0 {
		_ = o.place.Resize(o.large) // to less, which does not fail
		return
	}
	o.place.Release()
	o.place = nil
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
	o.mu.Lock()
	defer o.mu.Unlock()
	o.releaseLocked(batch)
	clear(batch)
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
