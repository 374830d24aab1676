package streamhttp

import (
	"net/http"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// unsent bounds the bytes of large results that are being written to clients, which a
// client that reads slowly makes the server keep. When there are too many, the newest
// response of the owner that has most is ended with its connection. Results of up to
// writePiece are not counted: they cost less than the connection.
type unsent struct {
	o    *Options
	pool *limit.Pool
}

func newUnsent(o *Options) *unsent {
	return &unsent{o: o, pool: limit.NewPool(limit.PoolBounds{Total: o.maxUnsent()})}
}

// unsentPlace is what one response takes of unsent.
type unsentPlace struct {
	a       *responder
	place   *limit.Place
	evicted chan struct{} // closed when the response was told to end
}

// charge takes a place for that many bytes, which are about to be written; nil stands for
// a few. When there is no room it ends the response: with 503 as long as nothing of it is
// written. The caller holds the lock of the responder until release.
func (a *responder) charge(size int) (place *unsentPlace, ok bool) {
	if size <= writePiece || a.unsent == nil || a.err != nil {
		return nil, true
	}
	place = &unsentPlace{a: a, evicted: make(chan struct{})}
	var err error
	if place.place, err = a.unsent.pool.Take(a.owner, size, place.evict); err == nil {
		return place, true
	}
	a.madeRoom = true
	if !a.stream {
		unsentFull.write(a.w)
	}
	a.fail(errEvicted)
	return nil, false
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
	if p == nil || p.place.Release() {
		return
	}
	<-p.evicted
	p.a.madeRoom = true
	p.a.fail(errEvicted)
}

// unsentFull refuses a result for which there is no room.
var unsentFull = refuse(http.StatusServiceUnavailable, "too many large results are being sent: read them faster, or try again later")
