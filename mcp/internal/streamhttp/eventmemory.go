package streamhttp

import (
	"container/list"
	"context"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// eventMemorySize bounds the events of all clients in memory, in bytes.
const eventMemorySize = 64 << 20

// eventOverhead is the size that an event counts besides its bytes. It bounds the number
// of small events.
const eventOverhead = 64

// eventMemory is the EventStore of a single process. When it is full, the owner with the
// most bytes loses a stream. If that is the owner that needs the room, it loses
// the stream to which nothing was added for longest.
type eventMemory struct {
	pool *limit.Pool // of bytes; not enlarged under mu, because that may evict a stream

	mu      sync.Mutex
	streams map[string]*list.Element   // of the list of its owner
	byAge   map[limit.Owner]*list.List // of *remembered, the longest untouched first
}

// storedEvents are the events first, first+1, … of one stream.
type storedEvents struct {
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
		byAge:   make(map[limit.Owner]*list.List),
	}
}

// Append implements mcp.EventStore.
func (m *eventMemory) Append(_ context.Context, stream string, n int64, msg []byte) error {
	m.append(limit.Owner{}, stream, n, msg)
	return nil
}

// append is Append for a stream of an owner.
func (m *eventMemory) append(owner limit.Owner, stream string, n int64, msg []byte) {
	r := m.add(owner, stream, n, msg)
	for !m.fits(r) && m.makeRoom(r) {
	}
}

// add stores an event even if there is no room.
func (m *eventMemory) add(owner limit.Owner, stream string, n int64, msg []byte) *storedEvents {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.storedLocked(owner, stream)
	next := r.first + int64(len(r.msgs))
	switch {
	case n < r.first: // it was stored and removed
		return r
	case n < next: // it is stored already
		r.size += len(msg) - len(r.msgs[n-r.first])
		r.msgs[n-r.first] = msg
		return r
	case n > next: // the earlier events were evicted
		r.dropOldest(len(r.msgs))
		r.first = n
	}
	r.msgs = append(r.msgs, msg)
	r.size += len(msg) + eventOverhead
	return r
}

// fits reports whether there is room for the events of a stream. It may evict streams of
// other owners. One goroutine at a time changes a stream, and so its place.
func (m *eventMemory) fits(r *storedEvents) bool {
	m.mu.Lock()
	size, place := r.size, r.place
	m.mu.Unlock()
	if place != nil {
		return place.Resize(size) == nil
	}
	place, err := m.pool.Take(r.owner, size, func() { m.discard(r) })
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

// makeRoom removes the oldest other stream of the same owner or, if there is none, the
// oldest event of this one. It reports false when nothing of the stream is left.
func (m *eventMemory) makeRoom(r *storedEvents) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.streams[r.name] == nil || m.streams[r.name].Value != r {
		return false
	}
	oldest := m.byAge[r.owner].Front().Value.(*storedEvents)
	if oldest == r {
		r.dropOldest(1)
		if len(r.msgs) > 0 {
			return true
		}
	}
	m.removeLocked(oldest)
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
	r := e.Value.(*storedEvents)
	from := min(max(n+1-r.first, 0), int64(len(r.msgs)))
	return slices.Clone(r.msgs[from:]), nil
}

// Trim implements mcp.EventStore.
func (m *eventMemory) Trim(_ context.Context, stream string, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.streams[stream]; e != nil {
		r := e.Value.(*storedEvents)
		r.dropOldest(int(min(max(n-r.first+1, 0), int64(len(r.msgs)))))
		if len(r.msgs) == 0 {
			m.removeLocked(r)
		} else if r.place != nil {
			_ = r.place.Resize(r.size) // smaller, so that no place is evicted
		}
	}
	return nil
}

// discard removes a stream whose place was given to another owner.
func (m *eventMemory) discard(r *storedEvents) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removeLocked(r)
}

// The methods below need the lock.

// storedLocked returns the events of a stream, and makes it the newest of its owner.
func (m *eventMemory) storedLocked(owner limit.Owner, stream string) *storedEvents {
	e := m.streams[stream]
	if e == nil {
		if m.byAge[owner] == nil {
			m.byAge[owner] = list.New()
		}
		e = m.byAge[owner].PushBack(&storedEvents{name: stream, owner: owner, first: 1})
		m.streams[stream] = e
	}
	r := e.Value.(*storedEvents)
	m.byAge[r.owner].MoveToBack(e)
	return r
}

func (m *eventMemory) removeLocked(r *storedEvents) {
	e := m.streams[r.name]
	if e == nil || e.Value != r {
		return
	}
	delete(m.streams, r.name)
	if m.byAge[r.owner].Remove(e); m.byAge[r.owner].Len() == 0 {
		delete(m.byAge, r.owner)
	}
	r.place.Release()
}

// dropOldest removes the oldest n events of a stream.
func (r *storedEvents) dropOldest(n int) {
	for _, msg := range r.msgs[:n] {
		r.size -= len(msg) + eventOverhead
	}
	r.msgs = slices.Delete(r.msgs, 0, n)
	r.first += int64(n)
}
