package exchange

import (
	"context"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// Limits of one queue of notifications. When it is full the oldest ones are dropped.
const (
	maxQueued      = 1024
	maxQueuedBytes = 16 << 20
)

// Dispatcher is a bounded queue of notifications. It calls the handler with one
// after the other, in the order of Put, on a goroutine that lives while there is
// work: a slow handler delays later notifications and nothing else.
type Dispatcher[T any] struct {
	handle func(T)
	start  func(run func())
	bytes  *limit.KeptBytes // to which the owner's notifications count; nil is unbounded
	owner  limit.Owner
	end    func() // see CountTo

	putting sync.Mutex // held by Put

	mu       sync.Mutex
	queue    []queued[T]
	size     int           // of the queue
	handled  int           // size of the notification that is being handled
	place    *limit.Place  // among bytes; nil while what is kept is small
	placed   int           // size of place
	puts     int           // calls of Put that may use place
	evicted  int           // how often the place was evicted
	put      int           // notifications put so far
	dropped  int           // notifications dropped because the queue was full
	running  bool          // the goroutine is running
	handling bool          // the handler is running
	closed   bool          // Put does nothing
	progress chan struct{} // closed after the next notification; nil while no Flush waits
	idle     sync.WaitGroup
}

// NewDispatcher returns a Dispatcher that calls handle with each notification.
// Its owner has to call Close.
func NewDispatcher[T any](handle func(T)) *Dispatcher[T] {
	return NewOwnedDispatcher(handle, func(run func()) { go run() })
}

// NewOwnedDispatcher is NewDispatcher for an owner that starts the goroutine itself
// and waits for it. start is called by Put, without a lock, and returns at once.
// Its owner has to call Stop.
func NewOwnedDispatcher[T any](handle func(T), start func(run func())) *Dispatcher[T] {
	return &Dispatcher[T]{handle: handle, start: start}
}

// CountTo has the notifications count to the bytes that are kept for an owner. It is called
// before the first Put. When another owner needs the room, those that wait are dropped, and end
// is called, which has the running handler return. It must not wait for that.
func (d *Dispatcher[T]) CountTo(bytes *limit.KeptBytes, owner limit.Owner, end func()) {
	d.bytes, d.owner, d.end = bytes, owner, end
}

// queued is one notification and the number of bytes that it keeps alive.
type queued[T any] struct {
	notification T
	size         int
}

// Put queues one notification, which keeps size bytes alive. It does not wait. It
// reports false when the notification, or older ones, were dropped because there is no room.
// After Close it does nothing.
func (d *Dispatcher[T]) Put(note T, size int) (fits bool) {
	d.putting.Lock()
	if !d.reserve(size) {
		d.putting.Unlock()
		return false
	}
	fits, start := d.enqueue(note, size)
	d.putting.Unlock()
	if start {
		d.start(d.run)
	}
	return fits
}

// reserve takes the place for one more notification among the bytes of its owner. It fails if
// there is none. The caller holds putting, and calls enqueue. The place is taken without mu,
// because that may drop the notifications of another queue.
func (d *Dispatcher[T]) reserve(size int) bool {
	d.mu.Lock()
	d.puts++
	before, evicted, need := d.place, d.evicted, d.size+d.handled+size
	enough := d.bytes == nil || need <= limit.SmallEntry || need <= d.placed || d.closed
	d.mu.Unlock()
	if enough {
		return true
	}
	need += need / 2 // so that it is taken seldom
	place, err := before, before.Resize(need)
	if before == nil {
		place, err = d.bytes.TakeLarge(d.owner, need, d.dropAll)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err != nil:
		d.puts--
		d.dropped++
		d.releaseLocked()
	case d.closed:
		place.Release()
	case d.evicted == evicted:
		d.place, d.placed = place, need
	}
	return err == nil
}

// dropAll drops what is queued, because another owner needs the room.
func (d *Dispatcher[T]) dropAll() {
	d.mu.Lock()
	d.evicted++
	d.dropped += len(d.queue)
	d.queue, d.size = nil, 0
	d.place, d.placed = nil, 0
	d.wakeLocked()
	d.mu.Unlock()
	d.end()
}

// releaseLocked gives the place back when nothing is kept. The caller holds mu.
func (d *Dispatcher[T]) releaseLocked() {
	if len(d.queue) == 0 && d.handled == 0 && d.puts == 0 {
		d.place.Release()
		d.place, d.placed = nil, 0
	}
}

// enqueue reports whether the notification fits and whether the caller has to
// start the goroutine.
func (d *Dispatcher[T]) enqueue(note T, size int) (fits, start bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.puts--
	if d.closed {
		d.releaseLocked()
		return true, false
	}
	fits = true
	for len(d.queue) > 0 && (len(d.queue) >= maxQueued || d.size+size > maxQueuedBytes) {
		d.shiftLocked()
		d.dropped++
		fits = false
	}
	d.queue = append(d.queue, queued[T]{note, size})
	d.size += size
	d.put++
	if d.running {
		return fits, false
	}
	d.running = true
	d.idle.Add(1)
	return fits, true
}

// Dropped returns how many notifications were dropped because the queue was full.
func (d *Dispatcher[T]) Dropped() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dropped
}

// Flush returns nil once every notification that was put before has been handled or
// dropped, or the cause of ctx.
func (d *Dispatcher[T]) Flush(ctx context.Context) error {
	d.mu.Lock()
	until := d.put
	for d.doneLocked() < until {
		if d.progress == nil {
			d.progress = make(chan struct{})
		}
		progress := d.progress
		d.mu.Unlock()
		select {
		case <-progress:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		d.mu.Lock()
	}
	d.mu.Unlock()
	return nil
}

// doneLocked returns how many notifications were handled or dropped.
func (d *Dispatcher[T]) doneLocked() int {
	if d.handling {
		return d.put - len(d.queue) - 1
	}
	return d.put - len(d.queue)
}

// Stop drops the queued notifications and all later ones. It does not wait for the handler
// that is running.
func (d *Dispatcher[T]) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.queue, d.size = nil, 0
	d.releaseLocked()
	d.wakeLocked()
}

// Close calls Stop and waits for the handler that is running. The handler must not call it.
func (d *Dispatcher[T]) Close() {
	d.Stop()
	d.idle.Wait()
}

func (d *Dispatcher[T]) run() {
	defer d.idle.Done()
	for {
		note, ok := d.next()
		if !ok {
			return
		}
		d.handle(note)
	}
}

// next returns the notification to handle now, or false when there is none.
func (d *Dispatcher[T]) next() (note T, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handling, d.handled = false, 0
	d.wakeLocked()
	if len(d.queue) == 0 {
		d.running = false
		d.releaseLocked()
		return note, false
	}
	d.handling, d.handled = true, d.queue[0].size
	return d.shiftLocked(), true
}

// wakeLocked wakes the goroutines that wait in Flush.
func (d *Dispatcher[T]) wakeLocked() {
	if d.progress != nil {
		close(d.progress)
		d.progress = nil
	}
}

// shiftLocked takes the oldest notification out of the queue.
func (d *Dispatcher[T]) shiftLocked() T {
	oldest := d.queue[0]
	d.queue[0] = queued[T]{}
	d.queue = d.queue[1:]
	d.size -= oldest.size
	return oldest.notification
}
