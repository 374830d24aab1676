package streamhttp

import (
	"container/list"
	"context"
	"crypto/rand"
	"encoding/binary"
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
	core   exchange.Core
	o      *Options
	work   *drain.Group // counts the goroutines of the table and of its sessions
	ttl    time.Duration
	start  time.Time // when the table was made
	quota  *quota
	ids    *sessionIDs
	ended  *sessionKeys
	shared *sharedSessions // nil if processes have nothing in common but their keys

	logEnded func() // see newEndedLog

	mu     sync.Mutex
	byKey  map[sessionKey]*session
	kept   map[*session]*limit.Place // of what is kept of their clients, of those in byKey where that is large
	idle   list.List                 // of *session, the longest idle first
	sweep  *time.Timer               // runs while any session is idle
	closed bool
}

func newSessions(core exchange.Core, work *drain.Group, o *Options) *sessions {
	t := &sessions{
		core:  core,
		o:     o,
		work:  work,
		ttl:   o.sessionIdle(),
		start: time.Now(),
		quota: newQuota(o, limit.PoolBounds{Total: int64(o.maxSessions()), Principal: int64(o.principalSessions()), KeepBusy: true},
			mcp.LimitSessions, mcp.LimitPrincipalSessions),
		ids:   newSessionIDs(o, core.Dialect()),
		ended: newSessionKeys(maxEndedSessions),

		logEnded: newEndedLog(o),

		byKey: make(map[sessionKey]*session),
		kept:  make(map[*session]*limit.Place),
	}
	t.shared = newSharedSessions(t)
	return t
}

// open returns a new session that is not in the table yet. from is what its id says, or nil for
// a session that initialize opens. The caller uses the session and must release it.
func (t *sessions) open(r *http.Request, by *mcp.Identity, from *openedID) (*session, *refusal) {
	s := newSession(exchange.PrincipalOf(by), t.o.ownerOf(r, by, limit.NewMember()), t)
	s.Identify(by)
	s.uses = 1
	s.Spawn = func(run func()) { t.spawn(s, run) }
	if from != nil {
		s.key, s.expires = from.key, from.expires
		s.Reopened, s.Elsewhere = true, !from.here
		s.Agree(from.agreed)
	}
	t.shared.share(s, from)             // before other goroutines know the session
	if s.Reopened || t.o.sharesKeys() { // another process, or this one before, may have asked in the session
		s.Pending.StartAt(firstID())
	}
	if err := t.core.Opened(s.Session); err != nil {
		s.ctx.Cancel(err)
		return nil, shuttingDown
	}
	return s, nil
}

// firstID returns a random number below 2^30. Ids that follow it fit into 32 bits, more than
// which some clients do not represent.
func firstID() int64 {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return int64(binary.BigEndian.Uint32(random[:]) >> 2)
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

// grow makes a place among the bytes that are kept as large as size, or takes one if place is nil. What it evicts
// ends on a goroutine that a shutdown waits for, because the caller holds locks of its session.
func (t *sessions) grow(place *limit.Place, o limit.Owner, size int, evict func()) (*limit.Place, error) {
	if !t.work.Join() {
		return nil, errShutdown
	}
	defer t.work.Leave()
	place, evictOthers, err := t.o.kept().Grow(place, o, size, evict)
	if evictOthers != nil {
		t.work.Go(evictOthers)
	}
	return place, err
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

// assignID gives a session that was initialized its id.
func (t *sessions) assignID(ctx context.Context, s *session) (id string) {
	id, expires, whole := t.ids.seal(s.Agreed(), s.Principal)
	t.mu.Lock()
	s.key, s.expires = keyOf(id), expires
	t.mu.Unlock()
	if !whole && t.shared != nil {
		t.shared.storeState(ctx, s)
	}
	t.shared.awaitKnown(ctx)
	return id
}

// add adds a session to the table. If another request has added a session of the same key, it
// changes nothing and reports false.
func (t *sessions) add(s *session) (added bool, refused *refusal) {
	kept, refused := t.o.keep(s.Owner, s.Agreed().Size(), func(cause error) { t.end(s, cause) })
	if refused != nil {
		return false, refused
	}
	place, refused := t.quota.take(s.Owner, func() { t.end(s, t.quota.evicted(s.Owner)) })
	if refused != nil {
		kept.Release()
		return false, refused
	}
	if added, refused = t.addPlaced(s, place, kept); !added {
		kept.Release()
		place.Release()
	}
	return added, refused
}

func (t *sessions) addPlaced(s *session, place, kept *limit.Place) (added bool, refused *refusal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.byKey[s.key] != nil:
		return false, nil
	case t.closed:
		return false, shuttingDown
	case s.ended, t.ended.has(s.key), s.shared == nil && s.Reopened && !s.Elsewhere && t.ended.mayLack(s.expires):
		return false, sessionUnknown
	}
	s.place = place
	if kept != nil {
		t.kept[s] = kept
	}
	t.byKey[s.key] = s
	return true, nil
}

// acquire returns the session of that id and the sender's principal, for one use that needs a
// call of leave. A session that is not in the table, because another process has opened it or
// it was idle for too long, is opened from its id. The refusal is the same for an unknown id
// and for the id of another principal's session, so that a client cannot distinguish the two.
func (t *sessions) acquire(r *http.Request, id string, by *mcp.Identity) (*session, *refusal) {
	if len(id) > maxSessionID {
		return nil, sessionUnknown
	}
	key := keyOf(id)
	if s, known := t.find(key, by); known {
		if s == nil {
			return nil, sessionUnknown
		}
		if s.shared != nil && s.shared.refresh(r.Context(), refreshAfter) {
			t.leave(s)
			return nil, sessionUnknown
		}
		return s, nil
	}
	from, refused := t.ids.open(id, exchange.PrincipalOf(by))
	if refused == nil && from.agreed == nil {
		refused = t.shared.readState(r.Context(), from)
	}
	if refused != nil {
		return nil, refused
	}
	return t.reopen(r, from, by)
}

// find returns a session of the table for one use, or nil if the sender has not opened it. It
// reports whether the key is known: the session is in the table or has ended.
func (t *sessions) find(key sessionKey, by *mcp.Identity) (s *session, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s = t.byKey[key]
	switch {
	case s == nil:
		return nil, t.ended.has(key)
	case s.Principal != exchange.PrincipalOf(by) || time.Now().After(s.expires):
		return nil, true
	}
	s.Identify(by)
	s.Presence.Enter()
	t.retainLocked(s)
	return s, true
}

// reopen adds the session of an id to the table, for one use. If another request of the
// session does so first, it returns that one.
func (t *sessions) reopen(r *http.Request, from *openedID, by *mcp.Identity) (*session, *refusal) {
	s, refused := t.open(r, by, from)
	if refused != nil {
		return nil, refused
	}
	if s.shared != nil && s.shared.refresh(r.Context(), refreshAfter) {
		t.discard(s)
		return nil, sessionUnknown
	}
	t.shared.awaitKnown(r.Context())
	if r.Context().Err() != nil { // its state may not have been read
		t.discard(s)
		return nil, sessionUnknown
	}
	t.core.Initialized(s.Session)
	added, refused := t.add(s)
	if added {
		s.Presence.Enter()
		return s, nil
	}
	t.discard(s)
	if refused != nil {
		return nil, refused
	}
	if s, _ := t.find(from.key, by); s != nil {
		return s, nil
	}
	return nil, sessionUnknown // it has ended at once
}

// discard ends a session that open has returned and that is not in the table.
func (t *sessions) discard(s *session) {
	t.end(s, errSessionRefused)
	t.release(s)
}

// leave ends the use of a session by the request that has acquired it.
func (t *sessions) leave(s *session) {
	s.Presence.Leave()
	t.release(s)
}

// use returns the session of a key for one use that needs a call of release, or nil if it is
// not in the table.
func (t *sessions) use(key sessionKey) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byKey[key]
	if s != nil {
		t.retainLocked(s)
	}
	return s
}

// hasID reports whether a session has its id.
func (t *sessions) hasID(s *session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return s.key != sessionKey{}
}

// inUse returns the sessions in use, each for one use that needs a call of release.
func (t *sessions) inUse() (all []*session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.byKey {
		if s.uses > 0 {
			t.retainLocked(s)
			all = append(all, s)
		}
	}
	return all
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
		t.kept[s].SetBusy()
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
		t.kept[s].SetIdle(s.used)
		t.scheduleSweepLocked()
	}
	t.mu.Unlock()
	if unused && ended {
		t.core.Closed(s.Session)
	}
}

// end ends a session for the given cause, whether it is in the table or not. Only the first
// call has an effect on the session; a later one can still end what its id would open.
func (t *sessions) end(s *session, cause error) {
	if isDeliberate(cause) && t.o.sharesKeys() && t.shared == nil {
		t.logEnded()
	}
	t.mu.Lock()
	if s.ended {
		again := t.forbidLocked(s, cause)
		t.mu.Unlock()
		if again != nil {
			t.end(again, cause)
		}
		return
	}
	t.removeLocked(s, cause)
	unused := s.uses == 0
	t.mu.Unlock()
	if unused {
		t.finish(s, cause)
		return
	}
	s.stop(cause) // the last release calls core.Closed
}

// isDeliberate reports whether somebody wants a session to end, so that its id must open none.
func isDeliberate(cause error) bool { return cause == errSessionDeleted || cause == errSessionEnded }

// forbidLocked makes the id of a session that has ended before open no other one, if the cause
// is deliberate. It returns the session that the id has opened meanwhile, or nil. The caller
// holds mu.
func (t *sessions) forbidLocked(s *session, cause error) (again *session) {
	if !isDeliberate(cause) || s.key == (sessionKey{}) {
		return nil
	}
	t.ended.add(s.key, s.Owner, s.expires, 1)
	if again = t.byKey[s.key]; again == s {
		return nil
	}
	return again
}

// removeLocked removes a session from the table. Its id opens another session with the same
// capabilities, unless the end is deliberate or the session would lack what it had in this
// process. The caller holds mu.
func (t *sessions) removeLocked(s *session, cause error) {
	s.ended = true
	inTable := t.byKey[s.key] == s
	if inTable {
		delete(t.byKey, s.key)
		s.place.Release()
		t.kept[s].Release()
		delete(t.kept, s)
	}
	if s.key != (sessionKey{}) && (isDeliberate(cause) || inTable && s.shared == nil && s.HasState.Load()) {
		t.ended.add(s.key, s.Owner, s.expires, 1)
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
	all := make([]*session, 0, len(t.byKey))
	for _, s := range t.byKey {
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
		t.removeLocked(s, errSessionIdle)
		expired = append(expired, s)
	}
	t.sweep = nil
	t.scheduleSweepLocked()
	return expired
}

// idleLeft returns the time after which an idle session ends. It is not positive if the
// session has been idle for too long.
func (t *sessions) idleLeft(s *session) time.Duration { return s.since + t.ttl - time.Since(t.start) }
