package limit

import (
	"sync"
	"time"
)

// LogRate limits how often lines are written to a log for which a peer can give a reason at any rate. Lines of
// different keys are limited apart. Keys are kept, so they must not come from peers. The zero value is ready
// for use. It is safe for concurrent use.
type LogRate[K comparable] struct {
	mu     sync.Mutex
	states map[K]logState // guarded by mu
}

// logState is the state of the lines of one key.
type logState struct {
	next time.Time // the time of the next line at the earliest
	left int       // lines that were left out since the last
}

// Due reports whether to write a line of a key now, and how many were left out since the last. The next one is
// due after the given time.
func (r *LogRate[K]) Due(key K, every time.Duration) (left int, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, last := time.Now(), r.states[key]
	if now.Before(last.next) {
		last.left++
		r.states[key] = last
		return 0, false
	}
	if r.states == nil {
		r.states = make(map[K]logState)
	}
	r.states[key] = logState{next: now.Add(every)}
	return last.left, true
}
