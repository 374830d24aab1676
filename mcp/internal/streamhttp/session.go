package streamhttp

import (
	"container/list"
	"context"
	"crypto/rand"
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
	// maxGetStreams bounds the GET streams of one session. One more ends the
	// oldest, which is often one that the client has lost.
	maxGetStreams = 8
	// maxPending bounds the messages that wait for a GET stream. The oldest ones
	// make room.
	maxPending = 64
	// maxParked bounds the streams of one session that have ended or lost their
	// connection and can still be resumed, besides those whose requests run.
	maxParked = 16
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
	id   string
	run  lazyctx.Context // of all that runs in the session
	lost func()          // called when a message finds no room, without a lock

	mu      sync.Mutex
	gets    []*stream // attached, newest last
	pending queue
	streams map[string]*stream // that can be resumed, by name
	parked  []*stream          // of these, those that are done, oldest first
	over    bool

	// Guarded by the lock of the table.
	place *limit.Place  // while it is in the table
	used  bool          // it has had a request
	uses  int           // requests and running calls
	idle  *list.Element // in the table, while there is no use
	since time.Time     // when it became idle
	ended bool
}

// newSession returns a session for p with an id that cannot be guessed: 130
// random bits, visible ASCII.
func newSession(p mcp.Principal, owner limit.Owner, end func(*session, error)) *session {
	s := &session{id: rand.Text(), lost: func() {}}
	s.run.Begin(context.Background(), nil)
	s.Session = &exchange.Session{
		Principal: p,
		Owner:     owner,
		Push:      func(_ context.Context, msg []byte) error { return s.push(msg) },
		Queues:    true,
		End:       func() { end(s, errSessionEnded) },
	}
	return s
}

// context returns a context that ends with the session, not with the request,
// and has the values of the request.
func (s *session) context(request context.Context) context.Context {
	return callContext{Context: &s.run, values: request}
}

type callContext struct {
	context.Context
	values context.Context
}

// Value asks the session's context first: package context finds the parent of a
// cancellation through it, and never that of the request.
func (c callContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return context.WithoutCancel(c.values).Value(key)
}

// stop ends all that belongs to the session.
func (s *session) stop(cause error) {
	s.run.Cancel(cause)
	s.Pending.Fail(cause)
	s.StopNotes()
	for _, st := range s.close() {
		st.forget()
	}
}

// close takes all streams out of the session and ends those that belong to no
// request. It returns those that could be resumed.
func (s *session) close() (resumable []*stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, st := range s.gets {
		st.end(dialect.Reply{})
	}
	resumable = slices.Collect(maps.Values(s.streams))
	s.gets, s.pending, s.streams, s.parked = nil, queue{}, nil, nil
	return resumable
}
