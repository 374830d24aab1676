package streamhttp

import (
	"sync"
	"time"
)

// silence makes the answers of a handler event streams that take long. All of them
// may be silent for equally long, so that they stand in a line and one timer is enough
// for the one in front. The zero silence is ready; it is safe for concurrent use.
type silence struct {
	mu          sync.Mutex
	front, back *responder
	timed       bool // a timer runs, for the one that was in front when it was set
}

// inLine is the place of an answer in the line.
type inLine struct {
	stands        bool
	before, after *responder
	due           time.Time
}

// begin puts an answer at the end of the line, before anybody else knows of it.
func (s *silence) begin(a *responder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.silence, a.inLine = s, inLine{stands: true, before: s.back, due: time.Now().Add(jsonPatience)}
	if s.back == nil {
		s.front = a
	} else {
		s.back.inLine.after = a
	}
	s.back = a
	if !s.timed {
		s.time(jsonPatience)
	}
}

// end takes an answer out of the line, if it stands there.
func (s *silence) end(a *responder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(a)
}

// over is when the time of the one in front may be.
func (s *silence) over() {
	for a := s.next(); a != nil; a = s.next() {
		a.tick()
	}
}

// next takes one out whose time is over. When there is none it sets the timer for
// the one that is in front now.
func (s *silence) next() *responder {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.front
	if a == nil {
		s.timed = false
		return nil
	}
	if left := time.Until(a.inLine.due); left > 0 {
		s.time(left)
		return nil
	}
	s.remove(a)
	return a
}

// time and remove need the lock.
func (s *silence) time(d time.Duration) {
	s.timed = true
	time.AfterFunc(d, s.over)
}

func (s *silence) remove(a *responder) {
	if !a.inLine.stands {
		return
	}
	if before := a.inLine.before; before == nil {
		s.front = a.inLine.after
	} else {
		before.inLine.after = a.inLine.after
	}
	if after := a.inLine.after; after == nil {
		s.back = a.inLine.before
	} else {
		after.inLine.before = a.inLine.before
	}
	a.inLine = inLine{}
}
