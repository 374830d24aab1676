package exchange

import "sync"

// maxNotes bounds what waits for a client's handlers. When it is full the
// oldest makes room.
const maxNotes = 1024

// Dispatcher hands notifications that belong to no call to their handler, one
// after the other, apart from the reader: a slow handler delays other
// notifications and nothing else. Its goroutine lives while there is work.
type Dispatcher[T any] struct {
	handle func(T)

	mu      sync.Mutex
	queue   []T
	dropped int
	running bool
	closed  bool
	idle    sync.WaitGroup
}

// NewDispatcher returns a Dispatcher that hands each notification to handle.
func NewDispatcher[T any](handle func(T)) *Dispatcher[T] { return &Dispatcher[T]{handle: handle} }

// Put queues one notification. It never waits.
func (d *Dispatcher[T]) Put(note T) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	if len(d.queue) >= maxNotes {
		d.queue = d.queue[1:]
		d.dropped++
	}
	d.queue = append(d.queue, note)
	if !d.running {
		d.running = true
		d.idle.Go(d.run)
	}
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
	note, d.queue = d.queue[0], d.queue[1:]
	return note, true
}
