package exchange

import "sync"

// What waits for a client's handlers is bounded in number and in bytes. When it
// is full the oldest make room.
const (
	maxNotes     = 1024
	maxNoteBytes = 16 << 20
)

// Dispatcher hands notifications that belong to no call to their handler, one
// after the other, apart from the reader: a slow handler delays other
// notifications and nothing else. Its goroutine lives while there is work.
type Dispatcher[T any] struct {
	handle func(T)

	mu      sync.Mutex
	queue   []queued[T]
	bytes   int
	dropped int
	running bool
	closed  bool
	idle    sync.WaitGroup
}

// NewDispatcher returns a Dispatcher that hands each notification to handle.
func NewDispatcher[T any](handle func(T)) *Dispatcher[T] { return &Dispatcher[T]{handle: handle} }

// queued is one notification and the bytes that it keeps alive.
type queued[T any] struct {
	note T
	size int
}

// Put queues one notification, which keeps that many bytes alive. It never waits. It
// reports false when others had to make room.
func (d *Dispatcher[T]) Put(note T, size int) (fits bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fits = true
	if d.closed {
		return fits
	}
	for len(d.queue) > 0 && (len(d.queue) >= maxNotes || d.bytes+size > maxNoteBytes) {
		d.shift()
		d.dropped++
		fits = false
	}
	d.queue = append(d.queue, queued[T]{note, size})
	d.bytes += size
	if !d.running {
		d.running = true
		d.idle.Go(d.run)
	}
	return fits
}

// Dropped returns how many notifications were lost to a full queue.
func (d *Dispatcher[T]) Dropped() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dropped
}

// Close drops what waits and returns when the running handler has.
func (d *Dispatcher[T]) Close() {
	d.mu.Lock()
	d.closed = true
	d.queue = nil
	d.mu.Unlock()
	d.idle.Wait()
}

func (d *Dispatcher[T]) run() {
	for {
		note, ok := d.next()
		if !ok {
			return
		}
		d.handle(note)
	}
}

func (d *Dispatcher[T]) next() (note T, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		d.running = false
		return note, false
	}
	return d.shift(), true
}

// shift takes the oldest. The caller holds mu.
func (d *Dispatcher[T]) shift() T {
	oldest := d.queue[0]
	d.queue[0] = queued[T]{}
	d.queue = d.queue[1:]
	d.bytes -= oldest.size
	return oldest.note
}
