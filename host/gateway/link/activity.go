package link

import (
	"sync"
	"time"
)

// activity is what the server of a connection has sent that does not name its call: questions and log
// messages.
type activity struct {
	mu    sync.Mutex    // guards the fields below
	open  int           // questions that wait for an answer
	since time.Time     // when the first of them was asked
	asked time.Duration // for how long questions were open before
	last  time.Time     // of the last message, or of the last answer
}

func (a *activity) beginQuestion() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open++; a.open == 1 {
		a.since = time.Now()
	}
}

func (a *activity) endQuestion() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = time.Now()
	if a.open--; a.open == 0 {
		a.asked += a.last.Sub(a.since)
	}
}

// Heard notes that the server has sent a message that does not name its call, such as a log message.
func (c *Conn) Heard() {
	c.activity.mu.Lock()
	defer c.activity.mu.Unlock()
	c.activity.last = time.Now()
}

// QuestionTime returns for how long questions of the server have been open on the connection so far, and
// whether one is open now. A question does not name its call, so any call may be waiting for its answer.
func (l Lease) QuestionTime() (asked time.Duration, open bool) {
	a := &l.conn.activity
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open > 0 {
		return a.asked + time.Since(a.since), true
	}
	return a.asked, false
}

// LastHeard returns when the last message came that does not name its call. That is now while a question
// is open.
func (l Lease) LastHeard() time.Time {
	a := &l.conn.activity
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open > 0 {
		return time.Now()
	}
	return a.last
}
