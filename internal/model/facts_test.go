package model_test

import (
	"fmt"
	"sync"
	"time"
)

// facts are what clients and tools have seen during a schedule. The invariants judge them.
type facts struct {
	began time.Time

	mu        sync.Mutex
	history   []string         // guarded by mu
	calls     []*call          // guarded by mu
	steps     map[string]*step // guarded by mu: by call and name
	most      map[string]int   // guarded by mu: the most calls that ran at once, by replica and owner
	repeated  []string         // guarded by mu: events that were lost or delivered again
	foreign   []string         // guarded by mu: messages for somebody else
	excluded  []string         // guarded by mu: calls that were refused because of another owner
	unreached []string         // guarded by mu: subscribers that were not notified
	left      []string         // guarded by mu: resources that did not return
}

func newFacts() *facts {
	return &facts{began: time.Now(), steps: make(map[string]*step), most: make(map[string]int)}
}

// call is one call of a client.
type call struct {
	who       string // the client
	nonce     string
	want      string // the text of the result, if there is one
	durable   bool
	cancelled bool
	resent    int       // rounds that were sent again, because their response was lost
	outcomes  []outcome // of which there has to be one
	progress  int       // the last message
	overdue   bool      // there was no outcome in time
	steps     int       // how many messages of progress precede a result
}

// outcome is how a call has ended for its client.
type outcome struct {
	kind outcomeKind
	text string
}

type outcomeKind int

const (
	succeeded outcomeKind = iota
	failed                // with an error of the server
	broken                // the connection ended, and nothing can be resumed
)

func (k outcomeKind) String() string { return [...]string{"result", "error", "broken connection"}[k] }

// step is one step of a call.
type step struct {
	begun    int
	done     bool     // Once has returned
	again    int      // how often it was begun after that
	replica  *replica // that has begun it last
	needless int      // how often it was begun again although no replica had a fault
}

func (f *facts) log(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logLocked(format, args...)
}

func (f *facts) logLocked(format string, args ...any) {
	f.history = append(f.history, fmt.Sprintf("%9.3fs  ", time.Since(f.began).Seconds())+fmt.Sprintf(format, args...))
}

// record adds a line to one of the lists, and to the history.
func (f *facts) record(list *[]string, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*list = append(*list, fmt.Sprintf(format, args...))
	f.logLocked("! "+format, args...)
}

func (f *facts) call(c *call) *call {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	return c
}

// end records an outcome of a call.
func (f *facts) end(c *call, kind outcomeKind, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.outcomes = append(c.outcomes, outcome{kind, text})
	f.logLocked("%s: call %s: %v %.150s", c.who, c.nonce, kind, text)
}

// endWaiting records which calls have no outcome although the faults have ended long ago. What
// their clients get later, because their sessions end, comes too late.
func (f *facts) endWaiting() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		c.overdue = len(c.outcomes) == 0 && !c.cancelled
	}
}

// ended reports whether the client of a call waits no more.
func (f *facts) ended(c *call) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(c.outcomes) > 0 || c.cancelled
}

func (f *facts) begun(r *replica, key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.steps[key]
	if s == nil {
		s = new(step)
		f.steps[key] = s
	}
	if s.begun++; s.done {
		s.again++
	}
	if s.replica != nil && !s.replica.link.faulted.Load() {
		s.needless++
	}
	s.replica = r
	f.logLocked("%v: begins %s", r, key)
}

func (f *facts) completed(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps[key].done = true
}

// ran records how many calls of an owner run at once.
func (f *facts) ran(r *replica, owner string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := fmt.Sprint(r, ", owner ", owner)
	f.most[key] = max(f.most[key], n)
}
