package streamhttp

import (
	"container/list"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

const (
	// maxGetStreams bounds the GET streams of one session. One more ends the oldest,
	// which the client has often lost.
	maxGetStreams = 8
	// maxUndelivered bounds the messages that wait for a GET stream. When it is reached,
	// the oldest are dropped.
	maxUndelivered = 64
	// maxDetached bounds the streams of one session that are done and can be resumed.
	// Streams whose requests run do not count.
	maxDetached = 16
)

var (
	errSessionDeleted = errors.New("the client has ended the session")
	errSessionIdle    = errors.New("the session was idle for too long")
	errSessionExpired = errors.New("the id of the session has expired")
	errSessionRefused = errors.New("the session was not opened")
	errSessionEnded   = errors.New("the session has ended")
)

// session is one session of Streamable HTTP: what initialize negotiated, the requests
// that run in it, and its streams.
//
// Spec: 2025-11-25 basic/transports#session-management
type session struct {
	*exchange.Session
	shared  *sharedSession // nil unless other processes serve the session, too
	key     sessionKey
	expires time.Time       // of the id
	ctx     lazyctx.Context // ends with the session
	table   *sessions

	mu          sync.Mutex
	getStreams  []*stream // those with a connection, newest last
	undelivered queue
	streams     map[string]*stream // those that can be resumed, by the name of their log
	detached    []*stream          // the streams in it that are done, oldest first

	// Guarded by the lock of the table.
	place *limit.Place  // set while the session is in the table
	uses  int           // requests and running calls
	idle  *list.Element // in sessions.idle; nil while uses > 0
	since time.Duration // when it became idle, as the time since sessions.start
	used  bool          // whether it has had a request
	ended bool

	closed bool // guarded by mu
}

// newSession returns a session for p, which has no id yet.
func newSession(p mcp.Principal, owner limit.Owner, table *sessions) *session {
	s := &session{table: table}
	s.ctx.Begin(context.Background(), nil)
	s.Session = &exchange.Session{
		Principal: p,
		Owner:     owner,
		Push:      s.pushOrForward,
		Queues:    true,
		End:       func() { table.end(s, errSessionEnded) },
	}
	return s
}

// context returns a context that ends with the session, not with the request,
// and has the values of the request.
func (s *session) context(request context.Context) context.Context {
	return callContext{Context: &s.ctx, values: request}
}

type callContext struct {
	context.Context
	values context.Context
}

// Value looks in the session's context first: package context finds the parent of a
// cancellation by a value, which must not be that of the request.
func (c callContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return context.WithoutCancel(c.values).Value(key)
}

// timeLeft returns how long the id of the session is valid, and at least a second.
func (s *session) timeLeft() time.Duration { return max(time.Until(s.expires), time.Second) }

// kept returns what counts the bytes that the session makes the server keep, or nil.
func (s *session) kept() *limit.KeptBytes {
	if s == nil {
		return nil
	}
	return s.table.o.kept()
}

// reached reports a limit that the session has reached. The caller holds no lock.
func (s *session) reached(l mcp.Limit) { s.table.o.reached(l, s.Principal) }

// evictQueue implements queueHolder for the messages that wait for a GET stream.
func (s *session) evictQueue() {
	s.mu.Lock()
	s.undelivered.take()
	s.mu.Unlock()
	s.reached(mcp.LimitKept)
}

// stop ends everything that belongs to the session.
func (s *session) stop(cause error) {
	s.ctx.Cancel(cause)
	s.Pending.Fail(cause)
	s.StopNotifications()
	for _, st := range s.close() {
		if s.shared == nil || cause != errShutdown { // another process can resume it then
			s.discardStream(st)
		}
	}
}

// discardStream removes the events of a stream that cannot be resumed any more.
func (s *session) discardStream(st *stream) {
	st.discardLog()
	if s.shared != nil {
		s.shared.all.streams.remove(s, st)
	}
}

// close removes all streams from the session and ends those that belong to no request. It
// returns those that could be resumed.
func (s *session) close() (resumable []*stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, st := range s.getStreams {
		st.end(dialect.Reply{})
	}
	resumable = slices.Collect(maps.Values(s.streams))
	s.undelivered.take()
	s.getStreams, s.streams, s.detached = nil, nil, nil
	return resumable
}
