package streamhttp

import (
	"container/list"
	"context"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// maxRemembered bounds the events that are kept in memory for all clients, in
// bytes.
const maxRemembered = 64 << 20

// eventOverhead is what an event is counted for besides its bytes, so that many
// small ones are bounded as well.
const eventOverhead = 64

// eventMemory is the EventStore of a single process. When it is full, whoever has most
// kept in it loses a stream; who has most itself loses the one of its streams to which
// nothing was added for longest.
type eventMemory struct {
	pool *limit.Pool // of bytes; never asked under mu for more, which can forget a stream

	mu      sync.Mutex
	streams map[string]*list.Element   // of the list of its owner
	order   map[limit.Owner]*list.List // of *remembered, the longest untouched first
}

// remembered holds the events first, first+1, … of one stream.
type remembered struct {
	name  string
	owner limit.Owner
	place *limit.Place // as large as size, soon after size has changed
	first int64
	msgs  [][]byte
	size  int
}

var _ mcp.EventStore = (*eventMemory)(nil)

func newEventMemory(size int) *eventMemory {
	return &eventMemory{
		pool:    limit.NewPool(limit.PoolBounds{Total: int64(size)}),
		streams: make(map[string]*list.Element),
		order:   make(map[limit.Owner]*list.List),
	}
}

// Append implements mcp.EventStore.
func (m *eventMemory) Append(_ context.Context, stream string, n int64, msg []byte) error {
	m.append(limit.Owner{}, stream, n, msg)
	return nil
}

// append is Append for a stream that counts for an owner.
func (m *eventMemory) append(owner limit.Owner, stream string, n int64, msg []byte) {
	r := m.add(owner, stream, n, msg)
	for !m.fits(r) && m.makeRoom(r) {
	}
}

// add keeps an event, whether there is room or not.
func (m *eventMemory) add(owner limit.Owner, stream string, n int64, msg []byte) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.touch(owner, stream)
	if n != r.first+int64(len(r.msgs)) { // what came before was forgotten
		r.shift(len(r.msgs))
		r.first = n
	}
	r.msgs = append(r.msgs, msg)
	r.size += len(msg) + eventOverhead
	return r
}

// fits reports whether there is room for what is kept of a stream, which it may take
// from other owners. One stream is changed by one goroutine at a time, so that its
// place is its own.
func (m *eventMemory) fits(r *remembered) bool {
	m.mu.Lock()
	size, place := r.size, r.place
	m.mu.Unlock()
	if place != nil {
		return place.Resize(size) == nil
	}
	place, err := m.pool.Take(r.owner, size, func() { m.forget(r) })
	if err != nil {
		return false
	}
	m.mu.Lock()
	r.place = place
	e := m.streams[r.name]
	gone := e == nil || e.Value != r // because it was trimmed meanwhile
	m.mu.Unlock()
	if gone {
		place.Release()
	}
	return true
}

// makeRoom forgets another stream of the same owner, and in the end the oldest event of
// the only one that is left. It reports false when nothing of the stream is left.
func (m *eventMemory) makeRoom(r *remembered) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.streams[r.name] == nil || m.streams[r.name].Value != r {
		return false
	}
	oldest := m.order[r.owner].Front().Value.(*remembered)
	if oldest == r {
		r.shift(1)
		if len(r.msgs) > 0 {
			return true
		}
	}
	m.remove(oldest)
	return oldest != r
}

// After implements mcp.EventStore.
func (m *eventMemory) After(_ context.Context, stream string, n int64) ([][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.streams[stream]
	if e == nil {
		return nil, nil
	}
	r := e.Value.(*remembered)
	from := min(max(n+1-r.first, 0), int64(len(r.msgs)))
	return slices.Clone(r.msgs[from:]), nil
}

// Trim implements mcp.EventStore.
func (m *eventMemory) Trim(_ context.Context, stream string, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.streams[stream]; e != nil {
		r := e.Value.(*remembered)
		r.shift(int(min(max(n-r.first+1, 0), int64(len(r.msgs)))))
		if len(r.msgs) == 0 {
			m.remove(r)
		} else if r.place != nil {
			_ = r.place.Resize(r.size) // smaller, so that nobody loses anything
		}
	}
	return nil
}

// forget forgets a stream whose place was taken away.
func (m *eventMemory) forget(r *remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(r)
}

// The methods below need the lock.

// touch returns what is remembered of a stream, as the one touched last.
func (m *eventMemory) touch(owner limit.Owner, stream string) *remembered {
	e := m.streams[stream]
	if e == nil {
		if m.order[owner] == nil {
			m.order[owner] = list.New()
		}
		e = m.order[owner].PushBack(&remembered{name: stream, owner: owner, first: 1})
		m.streams[stream] = e
	}
	r := e.Value.(*remembered)
	m.order[r.owner].MoveToBack(e)
	return r
}

func (m *eventMemory) remove(r *remembered) {
	e := m.streams[r.name]
	if e == nil || e.Value != r {
		return
	}
	delete(m.streams, r.name)
	if m.order[r.owner].Remove(e); m.order[r.owner].Len() == 0 {
		delete(m.order, r.owner)
	}
	r.place.Release()
}

// shift forgets the oldest n events of a stream.
func (r *remembered) shift(n int) {
	for _, msg := range r.msgs[:n] {
		r.size -= len(msg) + eventOverhead
	}
	r.msgs = slices.Delete(r.msgs, 0, n)
	r.first += int64(n)
}
