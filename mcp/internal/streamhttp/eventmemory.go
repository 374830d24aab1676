package streamhttp

import (
	"container/list"
	"context"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// maxRemembered bounds the events that are kept in memory for all clients, in
// bytes.
const maxRemembered = 64 << 20

// eventOverhead is what an event is counted for besides its bytes, so that many
// small ones are bounded as well.
const eventOverhead = 64

// eventMemory is the EventStore of a single process. When it is full, the
// streams to which nothing was added for longest are forgotten.
type eventMemory struct {
	limit int

	mu      sync.Mutex
	size    int
	streams map[string]*list.Element // of the list
	order   list.List                // of *remembered, the longest untouched first
}

// remembered holds the events first, first+1, … of one stream.
type remembered struct {
	name  string
	first int64
	msgs  [][]byte
	size  int
}

var _ mcp.EventStore = (*eventMemory)(nil)

func newEventMemory(limit int) *eventMemory {
	return &eventMemory{limit: limit, streams: make(map[string]*list.Element)}
}

// Append implements mcp.EventStore.
func (m *eventMemory) Append(_ context.Context, stream string, n int64, msg []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.touch(stream)
	if n != r.first+int64(len(r.msgs)) { // what came before was forgotten
		m.shift(r, len(r.msgs))
		r.first = n
	}
	r.msgs = append(r.msgs, msg)
	r.size += len(msg) + eventOverhead
	m.size += len(msg) + eventOverhead
	m.makeRoom()
	return nil
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
		m.shift(r, int(min(max(n-r.first+1, 0), int64(len(r.msgs)))))
		if len(r.msgs) == 0 {
			m.remove(e)
		}
	}
	return nil
}

// The methods below need the lock.

// touch returns what is remembered of a stream, as the one touched last.
func (m *eventMemory) touch(stream string) *remembered {
	e := m.streams[stream]
	if e == nil {
		e = m.order.PushBack(&remembered{name: stream, first: 1})
		m.streams[stream] = e
	}
	m.order.MoveToBack(e)
	return e.Value.(*remembered)
}

// makeRoom forgets other streams, and in the end the oldest events of the only
// one that is left.
func (m *eventMemory) makeRoom() {
	for m.size > m.limit {
		e := m.order.Front()
		if e != m.order.Back() {
			m.remove(e)
			continue
		}
		m.shift(e.Value.(*remembered), 1)
	}
}

func (m *eventMemory) remove(e *list.Element) {
	r := m.order.Remove(e).(*remembered)
	m.size -= r.size
	delete(m.streams, r.name)
}

// shift forgets the oldest n events of a stream.
func (m *eventMemory) shift(r *remembered, n int) {
	for _, msg := range r.msgs[:n] {
		r.size -= len(msg) + eventOverhead
		m.size -= len(msg) + eventOverhead
	}
	r.msgs = slices.Delete(r.msgs, 0, n)
	r.first += int64(n)
}
