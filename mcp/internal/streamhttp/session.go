package streamhttp

import (
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

const (
	// maxGetStreams bounds the GET streams of one session. One more ends the
	// oldest, which is often one that the client has lost.
	maxGetStreams = 8
	// maxPending bounds the messages that wait for a GET stream. The oldest ones
	// make room.
	maxPending = 64
)

var (
	errSessionDeleted = errors.New("the client has ended the session")
	errSessionIdle    = errors.New("the session was idle for too long")
	errSessionRefused = errors.New("the session was not opened")
	errSessionEnded   = errors.New("the session has ended")
)

// session is one session of Streamable HTTP: what initialize agreed on, the
// requests that run in it, and the streams on which messages leave that belong
// to no request.
//
// Spec: 2025-11-25 basic/transports#session-management
type session struct {
	*exchange.Session
	id     string
	ctx    context.Context // of all that runs in the session
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	gets    []*stream // attached, newest last
	pending queue
	over    bool

	// Guarded by the lock of the table.
	uses  int           // requests and running calls
	idle  *list.Element // in the table, while there is no use
	since time.Time     // when it became idle
	ended bool
}

// newSession returns a session for p with an id that cannot be guessed: 130
// random bits, visible ASCII.
func newSession(p mcp.Principal, end func(*session, error)) *session {
	s := &session{id: rand.Text()}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.Session = &exchange.Session{
		Principal: p,
		Push:      func(_ context.Context, msg []byte) error { return s.push(msg) },
		End:       func() { end(s, errSessionEnded) },
	}
	return s
}

// context returns a context that ends with the session, not with the request,
// and has the values of the request.
func (s *session) context(request context.Context) context.Context {
	return callContext{Context: s.ctx, values: request}
}

type callContext struct {
	context.Context
	values context.Context
}

// Value asks the session's context first: package context finds the parent of a
// cancellation through it.
func (c callContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

// push sends a message that belongs to no request, on one stream: the newest
// that can take it. A stream that is too far behind ends behind what it holds.
//
// Spec: 2025-11-25 basic/transports#multiple-connections
func (s *session) push(msg []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errSessionEnded
	}
	s.pushLocked(msg)
	return nil
}

func (s *session) pushLocked(msg []byte) {
	for len(s.gets) > 0 {
		last := len(s.gets) - 1
		if s.gets[last].offer(msg) {
			return
		}
		s.gets[last].end(dialect.Reply{})
		s.gets = s.gets[:last]
	}
	for !s.pending.fits(msg, maxPending) {
		s.pending.pop(0) // the oldest
	}
	s.pending.push(msg)
}

// attach returns a new stream for the messages that belong to no request, with
// those that wait for one. It needs one detach.
func (s *session) attach() *stream {
	st := newStream()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		st.end(dialect.Reply{})
		return st
	}
	st.queue, s.pending = s.pending, queue{}
	if len(s.gets) >= maxGetStreams {
		s.gets[0].end(dialect.Reply{})
		s.gets = slices.Delete(s.gets, 0, 1)
	}
	s.gets = append(s.gets, st)
	return st
}

// detach removes the stream and passes on what it had not sent.
func (s *session) detach(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets = slices.DeleteFunc(s.gets, func(other *stream) bool { return other == st })
	for _, msg := range st.rest() {
		s.pushLocked(msg)
	}
}

// stop ends all that belongs to the session.
func (s *session) stop(cause error) {
	s.cancel(cause)
	s.Pending.Fail(cause)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, st := range s.gets {
		st.end(dialect.Reply{})
	}
	s.gets, s.pending = nil, queue{}
}
