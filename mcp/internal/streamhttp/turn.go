package streamhttp

import "sync"

// turn is a lock that may be held while a Store or a Bus is called, which takes time. Tests with
// fake time need it in place of a sync.Mutex: for testing/synctest a goroutine that waits for a
// mutex is not blocked, so the time would stand still. The zero value is ready for use, and is
// small, because each session has one.
type turn struct {
	mu      sync.Mutex
	held    bool            // guarded by mu
	waiting []chan struct{} // guarded by mu: the longest wait first
}

func (t *turn) lock() {
	t.mu.Lock()
	if !t.held {
		t.held = true
		t.mu.Unlock()
		return
	}
	given := make(chan struct{})
	t.waiting = append(t.waiting, given)
	t.mu.Unlock()
	<-given
}

func (t *turn) unlock() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.held, t.waiting = false, nil
		return
	}
	close(t.waiting[0])
	t.waiting = t.waiting[1:]
}
