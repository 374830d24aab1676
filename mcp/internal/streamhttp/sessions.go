package streamhttp

import (
	"container/list"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/drain"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// sessions is the table of sessions. A session is in use while one of its requests is
// handled, a stream is attached, or a call runs; otherwise it is idle, and ends when it
// has been idle for too long. When the table is full, an idle session
// of the owner with the most sessions ends. It is safe for concurrent use.
type sessions struct {
	core  exchange.Core
	o     *Options
	work  *drain.Group // counts the goroutines of the table and of its sessions
	ttl   time.Duration
	start time.Time // when the table was made
	quota *quota

	mu     sync.Mutex
	byID   map[string]*session
	idle   list.List   // of *session, the longest idle first
	sweep  *time.Timer // runs while any session is idle
	closed bool
}

func newSessions(core exchange.Core, work *drain.Group, o *Options) *sessions {
	return &sessions{
		core:  core,
		o:     o,
		work:  work,
		ttl:   o.sessionIdle(),
		start: time.Now(),
		quota: newQuota(o, limit.PoolBounds{Total: int64(o.maxSessions()), Principal: int64(o.principalSessions()), KeepBusy: true},
			mcp.LimitSessions, mcp.LimitPrincipalSessions),
		byID: make(map[string]*session),
	}
}

// open returns a new session that is not in the table yet. The caller uses it and must
// release it.
func (t *sessions) open(r *http.Request, by *mcp.Identity) (*session, *refusal) {
	s := newSession(exchange.PrincipalOf(by), t.o.ownerOf(r, by, limit.NewMember()), t.end)
	s.Identify(by)
	s.uses = 1
	s.Spawn = func(run func()) { t.spawn(s, run) }
	s.options = t.o
	if err := t.core.Opened(s.Session); err != nil {
		s.ctx.Cancel(err)
		return nil, shuttingDown
	}
	return s, nil
}

// spawn runs f on a goroutine that uses the session and that a shutdown waits for. The
// caller has the session in use and is counted by work itself, so that Go does not refuse.
func (t *sessions) spawn(s *session, f func()) {
	t.share(s)
	t.work.Go(func() {
		defer t.release(s)
		growStack()
		f()
	})
}

// growStack makes the stack of a new goroutine large enough for a call while it is empty.
// The runtime doubles a full stack and copies its content, which takes longer than a
// short call.
//
//go:noinline
func growStack() {
	var room [callStack]byte
	runtime.KeepAlive(&room)
}

// callStack is how much stack most calls need, in bytes.
const callStack = 6 << 10

// add adds a session to the table.
func (t *sessions) add(s *session) *refusal {
	place, refused := t.quota.take(s.Owner, func() { t.end(s, t.quota.evicted(s.Owner)) })
	if refused != nil {
		return refused
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || s.ended {
		place.Release()
		return shuttingDown
	}
	s.place = place
	t.byID[s.id] = s
	return nil
}

// acquire returns the session of that id and the sender's principal, for one use
// that needs one release. It returns nil both for an unknown id and for the id of another
// principal's session, so that a client cannot distinguish the two. The ids are long and
// random, and the time of a lookup by hash does not depend on how close a guess is.
func (t *sessions) acquire(id string, by *mcp.Identity) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if s == nil || s.Principal != exchange.PrincipalOf(by) {
		return nil
	}
	s.Identify(by)
	s.Presence.Enter()
	t.retainLocked(s)
	return s
}

// leave ends the use of a session by the request that has acquired it.
func (t *sessions) leave(s *session) {
	s.Presence.Leave()
	t.release(s)
}

// share counts one more use of a session that the caller has in use, by a request.
func (t *sessions) share(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.used = true
	t.retainLocked(s)
}

// retainLocked counts one more use. The caller holds mu.
func (t *sessions) retainLocked(s *session) {
	s.uses++
	if s.idle != nil {
		t.idle.Remove(s.idle)
		s.idle = nil
		s.place.SetBusy()
	}
}

// release ends one use. After the last use of an ended session it calls core.Closed.
func (t *sessions) release(s *session) {
	t.mu.Lock()
	s.uses--
	unused, ended := s.uses == 0, s.ended
	if unused && !ended {
		s.since = time.Since(t.start)
		s.idle = t.idle.PushBack(s)
		s.place.SetIdle(s.used)
		t.scheduleSweepLocked()
	}
	t.mu.Unlock()
	if unused && ended {
		t.core.Closed(s.Session)
	}
}

// end ends a session for the given cause, whether it is in the table or not.
// Only the first call has an effect.
func (t *sessions) end(s *session, cause error) {
	t.mu.Lock()
	if s.ended {
		t.mu.Unlock()
		return
	}
	t.removeLocked(s)
	unused := s.uses == 0
	t.mu.Unlock()
	if unused {
		t.finish(s, cause)
		return
	}
	s.stop(cause) // the last release calls core.Closed
}

// removeLocked removes a session from the table. The caller holds mu.
func (t *sessions) removeLocked(s *session) {
	s.ended = true
	if t.byID[s.id] == s {
		delete(t.byID, s.id)
		s.place.Release()
	}
	if s.idle != nil {
		t.idle.Remove(s.idle)
		s.idle = nil
	}
}

// finish ends a removed session that is not in use.
func (t *sessions) finish(s *session, cause error) {
	s.stop(cause)
	t.core.Closed(s.Session)
}

// close ends every session and refuses new ones.
func (t *sessions) close(cause error) {
	t.mu.Lock()
	t.closed = true
	if t.sweep != nil {
		t.sweep.Stop()
	}
	all := make([]*session, 0, len(t.byID))
	for _, s := range t.byID {
		all = append(all, s)
	}
	t.mu.Unlock()
	for _, s := range all {
		t.end(s, cause)
	}
}

// scheduleSweepLocked sets the timer for the session that has been idle longest, if there
// is one and the timer does not run. The caller holds mu.
func (t *sessions) scheduleSweepLocked() {
	front := t.idle.Front()
	if front == nil || t.closed || t.sweep != nil {
		return
	}
	t.sweep = time.AfterFunc(t.idleLeft(front.Value.(*session)), t.sweepExpired)
}

// sweepExpired ends the sessions that have been idle for too long.
func (t *sessions) sweepExpired() {
	if !t.work.Join() {
		return
	}
	defer t.work.Leave()
	for _, s := range t.removeExpired() {
		t.finish(s, errSessionIdle)
	}
}

// removeExpired removes these sessions from the table and sets the timer for the next.
func (t *sessions) removeExpired() (expired []*session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for e := t.idle.Front(); e != nil && t.idleLeft(e.Value.(*session)) <= 0; e = t.idle.Front() {
		s := e.Value.(*session)
		t.removeLocked(s)
		expired = append(expired, s)
	}
	t.sweep = nil
	t.scheduleSweepLocked()
	return expired
}

// idleLeft returns the time after which an idle session ends. It is not positive if the
// session has been idle for too long.
func (t *sessions) idleLeft(s *session) time.Duration { return s.since + t.ttl - time.Since(t.start) }
