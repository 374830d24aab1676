package mirror

import (
	"context"
	"errors"
	"sync"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// sessions are the foreign sessions of the sessions of clients. All methods are safe for
// concurrent use.
type sessions struct {
	open func(*mcpserver.Request) (Session, error)

	mu     sync.Mutex
	byOwn  map[*mcpserver.Session]*opened // nil when all are closed; guarded by mu
	ending sync.WaitGroup
}

// opened is a foreign session that the first caller of get opens.
type opened struct {
	once    sync.Once
	session Session
	err     error
}

var errNotOpened = errors.New("the session of the other SDK was not opened: its server panicked")

func newSessions(open func(*mcpserver.Request) (Session, error)) *sessions {
	return &sessions{open: open, byOwn: make(map[*mcpserver.Session]*opened)}
}

func (o *opened) get(open func() (Session, error)) (Session, error) {
	o.once.Do(func() {
		o.err = errNotOpened
		o.session, o.err = open()
	})
	return o.session, o.err
}

// of returns the foreign session of the session of a request. The first call opens it. It is
// closed when the session of the request ends.
func (s *sessions) of(r *mcpserver.Request) (Session, error) {
	own := r.Session()
	s.mu.Lock()
	if s.byOwn == nil {
		s.mu.Unlock()
		return nil, ErrUnmounted
	}
	o, ok := s.byOwn[own]
	if !ok {
		o = new(opened)
		s.byOwn[own] = o
		s.ending.Add(1)
		context.AfterFunc(own.Context(), func() { s.end(own) })
	}
	s.mu.Unlock()
	return o.get(func() (Session, error) { return s.open(r) })
}

// end closes the foreign session of a session that has ended.
func (s *sessions) end(own *mcpserver.Session) {
	s.mu.Lock()
	o, ok := s.byOwn[own]
	delete(s.byOwn, own)
	s.mu.Unlock()
	if ok {
		s.close(o)
	}
}

// closeAll closes all foreign sessions, and waits for those that are being closed.
func (s *sessions) closeAll() {
	s.mu.Lock()
	left := s.byOwn
	s.byOwn = nil
	s.mu.Unlock()
	for _, o := range left {
		s.close(o)
	}
	s.ending.Wait()
}

func (s *sessions) close(o *opened) {
	defer s.ending.Done()
	if session, err := o.get(func() (Session, error) { return nil, ErrUnmounted }); err == nil {
		session.Close()
	}
}
