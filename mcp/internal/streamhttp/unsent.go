package streamhttp

import (
	"net/http"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// unsent bounds the bytes of large results that are being written to clients, which a
// client that reads slowly makes the server keep. When there are too many, the newest
// response of the owner that has most is ended with its connection. Results of up to
// writePiece are not counted: they cost less than the connection.
//
// As long as there is room for all, responses stand in a list and nobody asks whose they
// are, which costs nothing. The first one without room moves the list into the pool.
type unsent struct {
	o    *Options
	pool *limit.Pool

	mu    sync.Mutex
	first *unsentPlace // guarded by mu: what is not in the pool
	bytes int64        // guarded by mu: of the list
}

func newUnsent(o *Options) *unsent {
	return &unsent{o: o, pool: limit.NewPool(limit.PoolBounds{Total: o.maxUnsent()})}
}

// unsentPlace is what one response takes of unsent.
type unsentPlace struct {
	a          *responder
	size       int
	prev, next *unsentPlace  // guarded by the mu of unsent
	place      *limit.Place  // guarded by the mu of unsent: nil in the list
	evicted    chan struct{} // closed when the response was told to end; nil in the list
}

// unsentPlaces are places that were only ever in the list.
var unsentPlaces = sync.Pool{New: func() any { return new(unsentPlace) }}

// charge takes a place for that many bytes, which are about to be written; nil stands for
// a few. When there is no room it ends the response: with 503 as long as nothing of it is
// written. The caller holds the lock of the responder until release.
func (a *responder) charge(size int) (place *unsentPlace, ok bool) {
	if size <= writePiece || a.unsent == nil || a.err != nil {
		return nil, true
	}
	place = unsentPlaces.Get().(*unsentPlace)
	place.a, place.size = a, size
	if a.unsent.list(place) {
		return place, true
	}
	place.evicted = make(chan struct{})
	taken, err := a.unsent.pool.Take(a.owner, size, place.evict)
	if err == nil {
		place.place = taken
		return place, true
	}
	a.madeRoom = true
	if !a.stream {
		unsentFull.write(a.w)
	}
	a.fail(errEvicted)
	return nil, false
}

// list puts a place into the list, if there is room for all. Otherwise it moves the list
// into the pool, where the newcomer has to look for room. That takes from nobody: what is
// in the list fits.
func (u *unsent) list(p *unsentPlace) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pool.Held() == 0 && u.bytes+int64(p.size) <= u.o.maxUnsent() {
		if p.next = u.first; p.next != nil {
			p.next.prev = p
		}
		u.first = p
		u.bytes += int64(p.size)
		return true
	}
	oldest := u.first
	for oldest != nil && oldest.next != nil {
		oldest = oldest.next
	}
	for q := oldest; q != nil; q = q.prev {
		q.evicted = make(chan struct{})
		q.place, _ = u.pool.Take(q.a.owner, q.size, q.evict)
	}
	u.first, u.bytes = nil, 0
	return false
}

// unlist takes a place out of the list and reports whether it stood there.
func (u *unsent) unlist(p *unsentPlace) bool {
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
	u.bytes -= int64(p.size)
	return true
}

// evict ends what is being written. It does not wait for the lock of the responder,
// which is held meanwhile.
func (p *unsentPlace) evict() {
	defer close(p.evicted)
	p.a.evicted.Store(true)
	_ = http.NewResponseController(p.a.w).SetWriteDeadline(time.Unix(1, 0))
}

// release gives the place back. It returns after evict, which uses the connection.
func (p *unsentPlace) release() {
	if p == nil {
		return
	}
	if p.a.unsent.unlist(p) {
		*p = unsentPlace{}
		unsentPlaces.Put(p)
		return
	}
	if p.place.Release() {
		return
	}
	<-p.evicted
	p.a.madeRoom = true
	p.a.fail(errEvicted)
}

// unsentFull refuses a result for which there is no room.
var unsentFull = refuse(http.StatusServiceUnavailable, "too many large results are being sent: read them faster, or try again later")
