package mcpserver

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
)

// Session returns the context of the session that the request belongs to. It
// ends with the session, and is the same (==) for all requests of one session
// and for no others, so what a server keeps for a session can be found by it and
// freed by context.AfterFunc.
//
// It is nil for requests of the stateless era, which stand alone whatever
// connection they share, for initialize itself, and outside of a request.
func (r *Request) Session() context.Context {
	if r == nil || r.call.Session == nil || r.in.Session == nil {
		return nil
	}
	return r.server.sessions.lifetime(r.in.Session)
}

// sessions are the open sessions and connections of a server. The zero value is ready
// for use; all methods are safe for concurrent use.
type sessions struct {
	mu       sync.Mutex
	open     map[*exchange.Session]*lazyctx.Context // lifetimes, nil until they are requested; guarded by mu
	refusing bool                                   // guarded by mu
}

// add adds a session. It fails with ErrShutdown after refuse.
func (s *sessions) add(session *exchange.Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusing {
		return ErrShutdown
	}
	if s.open == nil {
		s.open = make(map[*exchange.Session]*lazyctx.Context)
	}
	s.open[session] = nil
	return nil
}

// refuse makes add fail from now on.
func (s *sessions) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusing = true
}

// remove removes a session that has ended, and ends its lifetime.
func (s *sessions) remove(session *exchange.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lifetime := s.open[session]; lifetime != nil {
		lifetime.Cancel(nil)
	}
	delete(s.open, session)
}

// isOpen reports whether a session is open.
func (s *sessions) isOpen(session *exchange.Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.open[session]
	return ok
}

// lifetime returns the context that ends with a session. For a session that is not open
// it has ended.
func (s *sessions) lifetime(session *exchange.Session) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	lifetime, ok := s.open[session]
	switch {
	case !ok:
		return endedContext
	case lifetime == nil:
		lifetime = lazyctx.New(context.Background(), nil)
		s.open[session] = lifetime
	}
	return lifetime
}

// all returns the open sessions.
func (s *sessions) all() []*exchange.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.open))
}

// endedContext is the lifetime of sessions that are not open.
var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
