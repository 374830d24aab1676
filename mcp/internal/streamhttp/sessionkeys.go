package streamhttp

import (
	"container/list"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// sessionKeys is a bounded table of the keys of sessions until their ids expire. sessions.ended
// has those that have ended, so that their ids open nothing any more; sharedSessions.records has
// those with a record in the Store. When the table is full, an entry of the owner with the most
// is dropped. It is safe for concurrent use.
type sessionKeys struct {
	pool    *limit.Pool
	dropped func(sessionKey) // called without a lock when an entry is dropped; may be nil

	mu    sync.Mutex
	byKey map[sessionKey]*sessionKeyEntry // guarded by mu
	order list.List                       // guarded by mu: of *sessionKeyEntry, the earliest end first
	lacks time.Time                       // guarded by mu: ids that expire until then may be missing
}

type sessionKeyEntry struct {
	key     sessionKey
	expires time.Time // of the id
	place   *limit.Place
	element *list.Element // guarded by mu of the table; nil while the entry is not in it
	evicted bool          // guarded by mu of the table
}

const (
	// maxEndedSessions bounds the ended sessions of all owners.
	maxEndedSessions = 65_536
	// maxSessionRecords bounds the records of all owners in the Store, in bytes.
	maxSessionRecords = 64 << 20
)

// newSessionKeys returns a table whose entries have the given size together.
func newSessionKeys(total int64) *sessionKeys {
	return &sessionKeys{
		pool:  limit.NewPool(limit.PoolBounds{Total: total}),
		byKey: make(map[sessionKey]*sessionKeyEntry),
	}
}

// newEndedLog returns a function that logs once that the other processes with the same keys do
// not know which sessions have ended.
func newEndedLog(o *Options) func() {
	return sync.OnceFunc(func() {
		o.logger().Warn("streamhttp: only this process refuses the ids of sessions that have ended here: other replicas with the same Keys serve them until they expire", "SessionLife", o.sessionLife())
	})
}

func (t *sessionKeys) has(key sessionKey) bool { return t.entry(key) != nil }

// entry returns the entry of a key, or nil.
func (t *sessionKeys) entry(key sessionKey) *sessionKeyEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byKey[key]
}

// mayLack reports whether the id of an ended session with that expiry may be missing, because
// there was no room.
func (t *sessionKeys) mayLack(expires time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !expires.After(t.lacks)
}

// add adds an entry of a size. If there is one of the key, it gets the size.
func (t *sessionKeys) add(key sessionKey, owner limit.Owner, expires time.Time, size int) {
	for _, e := range t.takeExpired() {
		e.place.Release()
	}
	if e := t.entry(key); e != nil {
		if e.place.Resize(size) != nil && e.place.Release() {
			t.evict(e)
		}
		return
	}
	e := &sessionKeyEntry{key: key, expires: expires}
	place, err := t.pool.Take(owner, size, func() { t.evict(e) })
	if err != nil {
		t.evict(e)
		return
	}
	if !t.insert(e, place) {
		place.Release()
	}
}

func (t *sessionKeys) insert(e *sessionKeyEntry, place *limit.Place) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.evicted || t.byKey[e.key] != nil {
		return false
	}
	e.place, e.element = place, t.order.PushBack(e)
	t.byKey[e.key] = e
	return true
}

func (t *sessionKeys) evict(e *sessionKeyEntry) {
	t.mu.Lock()
	e.evicted = true
	t.removeLocked(e)
	if e.expires.After(t.lacks) {
		t.lacks = e.expires
	}
	t.mu.Unlock()
	if t.dropped != nil {
		t.dropped(e.key)
	}
}

// takeExpired removes the earliest entries whose ids have expired.
func (t *sessionKeys) takeExpired() (expired []*sessionKeyEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for front := t.order.Front(); front != nil && time.Now().After(front.Value.(*sessionKeyEntry).expires); front = t.order.Front() {
		e := front.Value.(*sessionKeyEntry)
		t.removeLocked(e)
		expired = append(expired, e)
	}
	return expired
}

// removeLocked removes an entry, if it is in the table. The caller holds mu.
func (t *sessionKeys) removeLocked(e *sessionKeyEntry) {
	if e.element != nil {
		delete(t.byKey, e.key)
		t.order.Remove(e.element)
		e.element = nil
	}
}
