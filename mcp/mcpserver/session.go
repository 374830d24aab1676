package mcpserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// Session is what the requests of one client share in the session era (2024-11-05 to
// 2025-11-25): a session of Streamable HTTP, or a connection of any other transport. A
// handler gets it from [Request.Session], as the same pointer for every request of the
// session and for no other request, so it can be the key of a map. Clients that share a
// connection, for which programs that start one stdio server for several clients repeat
// initialize, share the Session too. All methods are safe for concurrent use.
//
// The stateless era has no sessions, and neither has a handler that a test calls without
// a server: there the Session is nil. The methods of a nil Session may be called and keep
// nothing. State that a client of the stateless era can use again belongs into
// [Server.Store] or a handle of mcpext/handles.
type Session struct {
	id     string
	ctx    lazyctx.Context
	server *Server
	of     *exchange.Session
	logs   clientLogLimit // of ForwardLog

	mu     sync.Mutex
	values map[reflect.Type]any // pointers to the types; guarded by mu
}

// Session returns the session that the request belongs to. It is nil for requests of the
// stateless era, which are independent of each other whatever connection they share, for
// initialize until its handler has returned, and when r is nil.
func (r *Request) Session() *Session {
	if r == nil || r.call.Session == nil || r.in.Session == nil {
		return nil
	}
	return r.server.sessions.session(r.server, r.in.Session)
}

// needSession refuses a request that changes its session, if it has none or another replica has
// opened it.
func (r *Request) needSession() error {
	if r.in.Session == nil {
		return dialect.NeedsSession(r.method)
	}
	if err := r.in.Session.NeedsShared(); err != nil {
		return fmt.Errorf("%s: %w", r.method, err)
	}
	return nil
}

// ID returns a random id, which no other session has in any process, for logs and
// messages. It is not the session id of Streamable HTTP (Mcp-Session-Id), which is a
// secret of the client, and cannot be used in its place. Each process that serves the session
// has another id for it. It is empty for a nil Session.
func (s *Session) ID() string {
	if s == nil {
		return ""
	}
	return s.id
}

// Context returns a context that ends with the session: when its connection has closed,
// when the client has deleted it, when it was idle for too long, or when the server is
// shut down. Use it to release what is kept for the session, by [context.AfterFunc], and
// for work that outlives a request. It has no values and no deadline. For a nil Session it
// has ended: a function of AfterFunc runs at once then, concurrently with the handler.
// Check that the Session is not nil before, see the example of [Session.Value].
func (s *Session) Context() context.Context {
	if s == nil {
		return endedContext
	}
	return &s.ctx
}

// AbsentFor returns for how long the client has had neither a message in flight nor an event stream. It is 0
// while the client is connected, and for a nil Session. A client of Streamable HTTP that is absent may have
// ended without DELETE, or come back: use it to choose what is given up first for others.
func (s *Session) AbsentFor() time.Duration {
	if s == nil {
		return 0
	}
	return s.of.Presence.AbsentFor()
}

// Value returns the session's value of a type: a T that is zero at first, the same for
// all calls of Value with that type. Declare a type of your own for each value that you
// keep, as one does for keys of a context, so that no other package finds it:
//
//	type cart struct {
//		mu    sync.Mutex
//		items []string
//	}
//
//	c := mcpserver.From(ctx).Session().Value[cart]()
//
// Requests run concurrently, so T has to be safe for concurrent use. The server frees the
// value when the session has ended and no handler runs in it any more. It calls no method
// of T then: what has to be closed is closed by [context.AfterFunc] on [Session.Context].
//
// With Options.Keys several processes may serve a session, and one that was started later. Each
// has a value of its own, which is zero at first: keep only what may be missing.
//
// A nil Session, which is that of the stateless era, returns a new T each time, and its
// Context has ended: AfterFunc would close what the handler is still using. In that case
// close it with defer when the handler returns, or refuse the call as the example does.
func (s *Session) Value[T any]() *T {
	if s == nil {
		return new(T)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.values[reflect.TypeFor[T]()].(*T); ok {
		return v
	}
	if s.values == nil {
		s.values = make(map[reflect.Type]any)
	}
	v := new(T)
	s.values[reflect.TypeFor[T]()] = v
	return v
}

// LogValue implements [slog.LogValuer]: the session is logged as its id.
func (s *Session) LogValue() slog.Value { return slog.StringValue(s.ID()) }

// sessions are the open sessions and connections of a server. The zero value is ready
// for use; all methods are safe for concurrent use.
type sessions struct {
	mu       sync.Mutex
	open     map[*exchange.Session]bool         // guarded by mu
	began    map[*exchange.Session]time.Time    // guarded by mu: when it was opened, with Options.OnSession
	kept     map[*exchange.Session]*limit.Place // guarded by mu: of what is kept of the clients of connections, where that is large
	refusing bool                               // guarded by mu
}

// add adds a session. It fails with ErrShutdown after refuse.
func (s *sessions) add(session *exchange.Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusing {
		return ErrShutdown
	}
	if s.open == nil {
		s.open = make(map[*exchange.Session]bool)
	}
	s.open[session] = true
	return nil
}

// refuse makes add fail from now on.
func (s *sessions) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusing = true
}

// begin records when a session begins.
func (s *sessions) begin(session *exchange.Session, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began == nil {
		s.began = make(map[*exchange.Session]time.Time)
	}
	s.began[session] = at
}

// remove removes a session that has ended, and ends its context. It returns when the session has
// begun, or the zero time if that was not recorded.
func (s *sessions) remove(session *exchange.Session) (began time.Time) {
	s.mu.Lock()
	began = s.began[session]
	delete(s.began, session)
	delete(s.open, session)
	s.kept[session].Release()
	delete(s.kept, session)
	s.mu.Unlock()
	if made := madeSession(session); made != nil {
		made.ctx.Cancel(nil)
	}
	return began
}

// isOpen reports whether a session is open.
func (s *sessions) isOpen(session *exchange.Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[session]
}

// keep replaces the place of what is kept of the client of a session, which may be nil. It
// releases the place if the session has ended.
func (s *sessions) keep(session *exchange.Session, place *limit.Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[session].Release()
	switch {
	case place == nil:
		delete(s.kept, session)
	case !s.open[session]:
		place.Release()
	default:
		if s.kept == nil {
			s.kept = make(map[*exchange.Session]*limit.Place)
		}
		s.kept[session] = place
	}
}

// session returns the Session of an exchange.Session of the server, which is made when it is first
// requested: most sessions are not.
func (s *sessions) session(server *Server, x *exchange.Session) *Session {
	if found := madeSession(x); found != nil {
		return found
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := madeSession(x); found != nil {
		return found
	}
	session := &Session{id: rand.Text(), server: server, of: x}
	session.ctx.Begin(context.Background(), nil)
	if !s.open[x] {
		session.ctx.Cancel(nil)
	}
	x.CoreValue.Store(new(any(session)))
	x.HasState.Store(true)
	return session
}

// madeSession returns the Session of an exchange.Session, or nil if none was requested.
func madeSession(x *exchange.Session) *Session {
	if v := x.CoreValue.Load(); v != nil {
		return (*v).(*Session)
	}
	return nil
}

// all returns the open sessions.
func (s *sessions) all() []*exchange.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.open))
}

// endedContext is the context of a nil Session.
var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
