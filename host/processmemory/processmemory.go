// Package processmemory reads how much memory the programs of this machine use. It knows that on Linux alone.
package processmemory

import (
	"sync"
	"time"
)

// readTime is for how long the memory of processes is not read again.
const readTime = 2 * time.Second

// Reader reads the memory of processes, at most every two seconds. The zero value is ready to use. It is safe for
// concurrent use.
type Reader struct {
	mu   sync.Mutex
	last *Memory   // guarded by mu: nil before the first read
	time time.Time // guarded by mu: of last
}

// Read returns the memory of the processes that this user may see. It must not be changed.
func (r *Reader) Read() *Memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil || time.Since(r.time) > readTime {
		r.last, r.time = read(), time.Now()
	}
	return r.last
}

// Memory is the memory of processes at one time.
type Memory struct {
	resident map[int]int64 // bytes, by process id
	children map[int][]int
}

// Of returns the resident bytes of a process and of its descendants, 0 if they are not known.
func (m *Memory) Of(id int) int64 { return m.sum(id, make(map[int]bool)) }

// sum is Of without the processes that were counted: ids may be used again while they are read, and form a circle.
func (m *Memory) sum(id int, counted map[int]bool) (bytes int64) {
	if counted[id] {
		return 0
	}
	counted[id] = true
	bytes = m.resident[id]
	for _, child := range m.children[id] {
		bytes += m.sum(child, counted)
	}
	return bytes
}
