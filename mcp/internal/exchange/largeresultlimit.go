package exchange

import (
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// LargeResult is the size in bytes above which a result counts in an UnsentLimit. Smaller
// ones count together, once a connection has more than that of them.
const LargeResult = 64 << 10

// UnsentLimit bounds the bytes of large results that are being sent to clients, over all
// transports of a server: a client that reads slowly makes the server keep them in memory.
// When the limit is reached, the newest result of the owner with the most bytes loses its
// place (see limit.Pool). All methods are safe for concurrent use.
//
// As long as all results fit, their places are in a list that does not distinguish owners
// and allocates nothing. The first result that does not fit moves the list into the pool.
// New places are taken from the pool then until it is empty.
type UnsentLimit struct {
	total int64
	pool  *limit.Pool

	mu     sync.Mutex
	first  *UnsentPlace // of the list; guarded by mu
	listed int64        // bytes in the list; guarded by mu
	pooled int          // places outside of the list, until their Release; guarded by mu
}

// NewUnsentLimit returns a limit of total bytes.
func NewUnsentLimit(total int64) *UnsentLimit {
	return &UnsentLimit{total: total, pool: limit.NewPool(limit.PoolBounds{Total: total})}
}

// UnsentHolder holds an UnsentPlace.
type UnsentHolder interface {
	// EvictUnsent ends the sending, because the place was given to another owner. It is
	// called at most once for each place, on a goroutine of its own and without a lock, and
	// must not panic.
	EvictUnsent()
}

// UnsentPlace is the share of one or more results in an UnsentLimit.
type UnsentPlace struct {
	limit      *UnsentLimit
	holder     UnsentHolder
	owner      limit.Owner
	size       int           // guarded by mu of limit, while the place is in the list
	prev, next *UnsentPlace  // in the list; guarded by mu of limit
	place      *limit.Place  // in the pool; nil in the list
	evicted    chan struct{} // closed when EvictUnsent has returned; nil in the list. Guarded by mu of limit
}

// unsentPlaces holds released places that were never moved into the pool.
var unsentPlaces = sync.Pool{New: func() any { return new(UnsentPlace) }}

// Take takes a place of size bytes, which needs one Release. It fails if there is no room
// and no other owner has more.
func (u *UnsentLimit) Take(owner limit.Owner, size int, holder UnsentHolder) (*UnsentPlace, error) {
	p := unsentPlaces.Get().(*UnsentPlace)
	p.limit, p.owner, p.size, p.holder = u, owner, size, holder
	if u.list(p) {
		return p, nil
	}
	place, err := u.pool.Take(owner, size, p.startEviction)
	if err != nil {
		u.leavePool()
		return nil, err
	}
	p.place = place
	return p, nil
}

// Held returns the bytes that are counted.
func (u *UnsentLimit) Held() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.listed + int64(u.pool.Held())
}

// list adds a place to the list if there is room, and returns true. Otherwise it moves the
// list into the pool and returns false; the caller then takes the place from the pool.
func (u *UnsentLimit) list(p *UnsentPlace) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pooled == 0 && u.listed+int64(p.size) <= u.total {
		if p.next = u.first; p.next != nil {
			p.next.prev = p
		}
		u.first = p
		u.listed += int64(p.size)
		return true
	}
	u.moveListLocked()
	p.evicted = make(chan struct{})
	u.pooled++
	return false
}

// moveListLocked moves the list into the pool, the oldest place first. This evicts nothing:
// there is a list only while the pool is empty, and it fits. The caller holds mu.
func (u *UnsentLimit) moveListLocked() {
	oldest := u.first
	for oldest != nil && oldest.next != nil {
		oldest = oldest.next
	}
	for p := oldest; p != nil; p = p.prev {
		p.evicted = make(chan struct{})
		p.place, _ = u.pool.Take(p.owner, p.size, p.startEviction)
		u.pooled++
	}
	u.first, u.listed = nil, 0
}

func (u *UnsentLimit) leavePool() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pooled--
}

// Resize changes the size of the place. It fails if there is no room, and then changes
// nothing. It does nothing to an evicted place. Only the holder may call it and Release, one
// at a time.
func (p *UnsentPlace) Resize(size int) error {
	if p.resizeInList(size) {
		return nil
	}
	return p.place.Resize(size)
}

// resizeInList resizes a place in the list and returns true, or moves the list into the pool
// if there is no room and returns false.
func (p *UnsentPlace) resizeInList(size int) bool {
	u := p.limit
	u.mu.Lock()
	defer u.mu.Unlock()
	if p.evicted != nil {
		return false
	}
	if more := int64(size - p.size); u.listed+more <= u.total {
		u.listed += more
		p.size = size
		return true
	}
	u.moveListLocked()
	return false
}

// Release gives the place back and reports whether it was still held. If it was evicted,
// Release returns after EvictUnsent. Release of nil reports true. The place must not be used
// afterwards.
func (p *UnsentPlace) Release() bool {
	if p == nil {
		return true
	}
	if p.unlist() {
		*p = UnsentPlace{}
		unsentPlaces.Put(p)
		return true
	}
	defer p.limit.leavePool()
	if p.place.Release() {
		return true
	}
	<-p.evicted
	return false
}

// unlist removes a place from the list and reports whether it was there.
func (p *UnsentPlace) unlist() bool {
	u := p.limit
	u.mu.Lock()
	defer u.mu.Unlock()
	if p.evicted != nil {
		return false
	}
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		u.first = p.next
	}
	if p.next != nil {
		p.next.prev = p.prev
	}
	u.listed -= int64(p.size)
	return true
}

// startEviction calls EvictUnsent on a goroutine of its own, because whoever needs the room
// may hold a lock. Release waits for the goroutine.
func (p *UnsentPlace) startEviction() {
	go func() {
		defer close(p.evicted)
		p.holder.EvictUnsent()
	}()
}
