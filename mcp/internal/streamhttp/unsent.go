package streamhttp

import (
	"net/http"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// unsent bounds the bytes of large results that are being written to clients: a client that
// reads slowly makes the server keep them in memory. When the limit is reached, the newest
// response of the owner with the most bytes is ended with its connection. Results of up to
// writePiece bytes are not counted, because they cost less than the connection.
//
// As long as all responses fit, they are in a list that does not distinguish owners, which
// costs little. The first response that does not fit moves the list into the pool.
type unsent struct {
	o    *Options
	pool *limit.Pool

	mu    sync.Mutex
	first *unsentPlace // of the list of responses that are not in the pool; guarded by mu
	bytes int64        // of the responses in the list; guarded by mu
}

func newUnsent(o *Options) *unsent {
	return &unsent{o: o, pool: limit.NewPool(limit.PoolBounds{Total: o.maxUnsent()})}
}

// unsentPlace is the share of one response in unsent.
type unsentPlace struct {
	a          *responder
	size       int
	prev, next *unsentPlace  // guarded by the mu of unsent
	place      *limit.Place  // guarded by the mu of unsent: nil in the list
	evicted    chan struct{} // closed when evict has returned; nil in the list
}

// unsentPlaces holds released places that were never moved into the pool.
var unsentPlaces = sync.Pool{New: func() any { return new(unsentPlace) }}

// charge takes a place for a result of the given size that is about to be written. The place
// is nil for a small result. If there is no room it ends the response, with status 503 if
// nothing of it is written yet. The caller holds the lock of the responder until release.
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

// list adds a place to the list if there is room, and returns true. Otherwise it moves the
// list into the pool and returns false. The move evicts nothing, because the list fits into
// the pool; the caller then takes the new place from the pool.
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

// unlist removes a place from the list and reports whether it was there.
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

// evict ends the write in progress.
func (p *unsentPlace) evict() {
	defer close(p.evicted)
	p.a.interrupt()
}

// release gives the place back. If evict is running, it waits for it, because evict uses the
// connection.
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
