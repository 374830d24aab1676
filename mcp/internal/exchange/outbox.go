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
// their number and size, and an UnsentLimit what all connections of an owner have, beyond
// LargeResult for each.
type outbox struct {
	conn      mcp.Conn
	unwritten *unwritten
	failed    func(error) // called with the error of a write

	unsent *UnsentLimit // counts the replies; nil is unbounded
	owner  limit.Owner  // of the connection
	evict  func()       // ends the connection to make room for the replies of others; does not block

	mu      sync.Mutex
	ready   [][]byte
	spare   [][]byte     // used, empty
	writing bool         // a goroutine is writing
	size    int          // bytes of the replies that are not written
	place   *UnsentPlace // for size; nil while that is at most LargeResult
	placed  int          // size of place
}

// EvictUnsent implements UnsentHolder.
func (o *outbox) EvictUnsent() { o.evict() }

// reserve takes room for a reply that is about to be put. It fails if too much is unsent and
// no other owner has more; the reply must not be put then.
func (o *outbox) reserve(size int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	total := o.size + size
	if total > max(o.placed, LargeResult) && o.unsent != nil {
		if err := o.growLocked(total, size); err != nil {
			return err
		}
	}
	o.size = total
	return nil
}

// growLocked makes the place as large as total, and larger for a small reply, so that it grows
// seldom. The caller holds mu.
func (o *outbox) growLocked(total, size int) (err error) {
	if size < LargeResult {
		total += LargeResult
	}
	if o.place == nil {
		o.place, err = o.unsent.Take(o.owner, total, o)
	} else {
		err = o.place.Resize(total)
	}
	if err == nil {
		o.placed = total
	}
	return err
}

// countRefusal counts an error that is about to be put in place of a reply that has no room. It
// has room, because it is small.
func (o *outbox) countRefusal(size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size += size
}

// releaseLocked gives the room of written replies back. The caller holds mu.
func (o *outbox) releaseLocked(batch [][]byte) {
	for _, reply := range batch {
		o.size -= len(reply)
	}
	switch {
	case o.place == nil:
	case o.size <= LargeResult:
		o.place.Release()
		o.place, o.placed = nil, 0
	case o.placed-o.size > LargeResult:
		o.placed = o.size
		_ = o.place.Resize(o.size) // to less, which does not fail
	}
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
