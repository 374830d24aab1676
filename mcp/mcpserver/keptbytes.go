package mcpserver

import (
	"cmp"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// maxKept returns LoadOptions.MaxKept. By default it is a quarter of what a MemoryStore holds,
// which has room for it twice, for anonymous clients and for others, and as much for tasks.
func (o *Options) maxKept() int64 {
	m, ok := o.orZero().Store.(*MemoryStore)
	if !ok {
		m = new(MemoryStore)
	}
	return cmp.Or(o.orZero().Load.orZero().MaxKept, int64(m.maxBytes()/4))
}

// keep takes a place for bytes that the request makes the server keep, unless they are few. If
// another owner needs the place later, evict is called with the error for the client, without a
// lock; it must not block.
func (r *Request) keep(size int, evict func(error)) (*limit.Place, error) {
	if size <= limit.SmallEntry {
		return nil, nil
	}
	limits, e := r.server.limits, mcp.LimitReached{Limit: mcp.LimitKept, Principal: r.Principal(), Method: r.method}
	place, err := r.server.kept.TakeLarge(r.owner(), size, func() { // which does not keep the request
		limits.Reached(e)
		evict(mcp.PeerRetryLaterf(mcp.CodeOverloaded, retryWhole, "%s: ended to make room for another client, because the server keeps many bytes for you", e.Method))
	})
	if err != nil {
		r.ReportLimit(mcp.LimitKept)
		return nil, mcp.PeerRetryLaterf(mcp.CodeOverloaded, retryWhole, "%s: the server keeps too many bytes for clients: %v; want other requests to end first, or smaller ones", r.method, err)
	}
	return place, nil
}

// size is about how many bytes the request keeps: its message, the headers that came with it, and
// the answers to its questions.
func (r *Request) size() int {
	return r.call.Size() + r.run.Size() + exchange.SizeOfHeader(r.in.HTTP.Header)
}

// waitingCalls are the calls with many bytes that wait for answers. Meanwhile their bytes do not
// count among the running calls, but among those that are kept. The zero value is ready for use.
type waitingCalls struct {
	mu    sync.Mutex
	large map[*Request]*waitingCall // guarded by mu
}

// waitingCall is a call that waits for one answer or several. A nil waitingCall is a small one.
type waitingCall struct {
	of      *Request
	place   *limit.Place
	answers int // that the call waits for; guarded by the mu of waitingCalls
}

// keepWaiting takes the place of a call that begins to wait for an answer, once for all answers.
// Detached work has a place already, and notifications count in their queue. It needs one call
// of release.
func (r *Request) keepWaiting() (*waitingCall, error) {
	if r.outbound || !r.hasHandlers() {
		return nil, nil
	}
	size := r.size()
	if size <= limit.SmallEntry {
		return nil, nil
	}
	w := &r.server.waitingCalls
	if c := w.join(r); c != nil {
		return c, nil
	}
	place, err := r.keep(size, func(error) { r.handlers.Cancel(errQuestionCancelled) })
	if err != nil {
		return nil, err
	}
	return w.add(r, place), nil
}

// join adds an answer to those that the call waits for, or returns nil if it waits for none.
func (w *waitingCalls) join(r *Request) *waitingCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.large[r]
	if c != nil {
		c.answers++
	}
	return c
}

// add adds a call that waits for one answer. If another goroutine has done so, it joins that.
func (w *waitingCalls) add(r *Request, place *limit.Place) *waitingCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.large[r]
	if c == nil {
		c = &waitingCall{of: r, place: place}
		if w.large == nil {
			w.large = make(map[*Request]*waitingCall)
		}
		w.large[r] = c
	} else {
		place.Release()
	}
	c.answers++
	return c
}

// release ends the wait for one answer.
func (c *waitingCall) release() {
	if c == nil {
		return
	}
	w := &c.of.server.waitingCalls
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.answers--; c.answers == 0 {
		delete(w.large, c.of)
		c.place.Release()
	}
}

// keepClient takes the place of what the session of a connection keeps of its client. Sessions of
// Streamable HTTP take theirs in their table.
func (s *Server) keepClient(r *Request, agreed *dialect.Session) error {
	if r.in.Binding == dialect.Streamable {
		return nil
	}
	session := r.in.Session
	place, err := r.keep(agreed.Size(), func(error) { session.End() })
	if err == nil {
		s.sessions.keep(session, place)
	}
	return err
}
