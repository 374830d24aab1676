package streamhttp

import (
	"sync"
	"time"
)

// jsonTimeout is the maximum time until the first byte of an answer. After it the answer becomes
// an event stream, so that the client and proxies see that the connection is alive.
const jsonTimeout = 5 * time.Second

// jsonTimeouts makes pending answers of a handler event streams after jsonTimeout. Because the
// timeout is the same for all, the answers form a queue, and one timer for its front is
// sufficient: most answers leave the queue before the timer fires. The zero value is ready to
// use. It is safe for concurrent use.
type jsonTimeouts struct {
	mu          sync.Mutex
	front, back *responder
	timerSet    bool // a timer is running, for the answer that was in front when it was set
}

// timeoutEntry is the entry of an answer in the queue.
type timeoutEntry struct {
	queued     bool
	prev, next *responder
	due        time.Time
}

// add appends an answer to the queue. No other goroutine may use the answer yet.
func (q *jsonTimeouts) add(a *responder) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a.timeouts, a.timeout = q, timeoutEntry{queued: true, prev: q.back, due: time.Now().Add(jsonTimeout)}
	if q.back == nil {
		q.front = a
	} else {
		q.back.timeout.next = a
	}
	q.back = a
	if !q.timerSet {
		q.setTimerLocked(jsonTimeout)
	}
}

// remove removes an answer from the queue, if it is there.
func (q *jsonTimeouts) remove(a *responder) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.removeLocked(a)
}

// expire opens the answers whose timeout has passed. Each gets its own goroutine,
// because opening writes to the connection: a client that reads nothing must not
// delay the others. The answer waits for that goroutine (see abandon).
func (q *jsonTimeouts) expire() {
	for a := q.popExpired(); a != nil; a = q.popExpired() {
		go a.tick()
	}
}

// popExpired removes one answer whose time is up and counts the tick that has to
// follow. If there is none, it sets the timer for the answer that is in front now
// and returns nil.
func (q *jsonTimeouts) popExpired() *responder {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.front
	if a == nil {
		q.timerSet = false
		return nil
	}
	if left := time.Until(a.timeout.due); left > 0 {
		q.setTimerLocked(left)
		return nil
	}
	q.removeLocked(a)
	a.ticks.Add(1)
	return a
}

func (q *jsonTimeouts) setTimerLocked(d time.Duration) {
	q.timerSet = true
	time.AfterFunc(d, q.expire)
}

func (q *jsonTimeouts) removeLocked(a *responder) {
	if !a.timeout.queued {
		return
	}
	if prev := a.timeout.prev; prev == nil {
		q.front = a.timeout.next
	} else {
		prev.timeout.next = a.timeout.next
	}
	if next := a.timeout.next; next == nil {
		q.back = a.timeout.prev
	} else {
		next.timeout.prev = a.timeout.prev
	}
	a.timeout = timeoutEntry{}
}
