package exchange

import (
	"context"
	"sync"
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

	mu       sync.Mutex
	queue    []queued[T]
	bytes    int           // of the queue
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

// queued is one notification and the number of bytes that it keeps alive.
type queued[T any] struct {
	notification T
	size         int
}

// Put queues one notification, which keeps size bytes alive. It does not wait. It
// reports false when older notifications were dropped to make room. After Close it
// does nothing.
func (d *Dispatcher[T]) Put(note T, size int) (fits bool) {
	fits, start := d.enqueue(note, size)
	if start {
		d.start(d.run)
	}
	return fits
}

// enqueue reports whether the notification fits and whether the caller has to
// start the goroutine.
func (d *Dispatcher[T]) enqueue(note T, size int) (fits, start bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return true, false
	}
	fits = true
	for len(d.queue) > 0 && (len(d.queue) >= maxQueued || d.bytes+size > maxQueuedBytes) {
		d.shiftLocked()
		d.dropped++
		fits = false
	}
	d.queue = append(d.queue, queued[T]{note, size})
	d.bytes += size
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
	d.queue, d.bytes = nil, 0
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
	d.handling = false
	d.wakeLocked()
	if len(d.queue) == 0 {
		d.running = false
		return note, false
	}
	d.handling = true
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
	d.bytes -= oldest.size
	return oldest.notification
}
