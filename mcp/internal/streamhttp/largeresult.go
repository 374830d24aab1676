package streamhttp

import (
	"net/http"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

var _ exchange.UnsentHolder = (*responder)(nil)

// charge takes a place for a result of the given size that is about to be written. The place
// is nil for a small result. If there is no room it ends the answer, with status 503 if
// nothing of it is written yet. The caller holds the lock of the responder until release.
func (a *responder) charge(size int) (place *exchange.UnsentPlace, ok bool) {
	if size <= exchange.LargeResult || a.unsent == nil || a.err != nil {
		return nil, true
	}
	place, err := a.unsent.Take(a.owner, size, a)
	if err == nil {
		return place, true
	}
	a.madeRoom = true
	if !a.stream {
		unsentFull.write(a.w)
	}
	a.fail(errEvicted)
	return nil, false
}

// release gives the place back.
func (a *responder) release(place *exchange.UnsentPlace) {
	if !place.Release() {
		a.madeRoom = true
		a.fail(errEvicted)
	}
}

// EvictUnsent implements exchange.UnsentHolder.
func (a *responder) EvictUnsent() { a.interrupt() }

// unsentFull refuses a result for which there is no room.
var unsentFull = refuse(http.StatusServiceUnavailable, "too many large results are being sent: read them faster, or try again later")
