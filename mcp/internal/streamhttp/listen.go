package streamhttp

import (
	"net/http"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// opening returns what is to be done when an answer becomes an event stream that
// goes on behind event n: from then on the client can come back.
func (s *session) opening(st *stream, n int64) func() []sse.Event {
	if st.log == nil {
		return nil
	}
	return func() []sse.Event {
		s.keep(st)
		return st.prime(n)
	}
}

// get opens a stream for the messages that belong to no request, or resumes a
// stream. The connection ends when the credentials that opened it expire; the
// client comes back with new ones.
//
// Spec: 2025-11-25 basic/transports#listening-for-messages-from-the-server
func (h *Handler) get(w http.ResponseWriter, r *http.Request) *refusal {
	if wantsPage(r.Header) {
		return page(http.StatusNotAcceptable)
	}
	if refused := checkAccept(r.Header, TypeEventStream); refused != nil {
		return refused
	}
	in := &exchange.Inbound{Identity: mcp.IdentityFrom(r.Context())}
	s, refused := h.session(r, in)
	if refused != nil {
		return refused
	}
	defer h.sessions.release(s)
	if refused := h.streams.take(s.Principal); refused != nil {
		return refused
	}
	defer h.streams.release(s.Principal)
	ctx, cancel := exchange.WhileValid(r.Context(), in.Identity)
	defer cancel()
	r = r.WithContext(ctx)
	if ids := r.Header[HeaderLastEvent]; len(ids) > 0 {
		return h.resume(w, r, s, ids)
	}
	return h.listen(w, r, s)
}

// listen opens a stream for the messages that belong to no request.
func (h *Handler) listen(w http.ResponseWriter, r *http.Request, s *session) *refusal {
	if refused := h.drain.refuses(); refused != nil {
		return refused
	}
	ctx := lazyctx.New(r.Context(), h.drain.streamsOf(r))
	defer ctx.Cancel(nil)
	a := newResponder(w, h.o, ctx)
	defer a.abandon()
	st := newStream()
	st.resident = true
	h.resumable(s, st)
	a.opening = s.opening(st, 0)
	at := s.listen(ctx, st) // and then say so
	defer s.leave(at)
	if a.open() == nil {
		at.copyTo(a)
	}
	return nil
}

// resume lets a stream go on behind an event, on this connection. A call that
// runs while the server shuts down can still be come back to.
//
// Spec: 2025-11-25 basic/transports#resumability-and-redelivery
func (h *Handler) resume(w http.ResponseWriter, r *http.Request, s *session, ids []string) *refusal {
	st, n := s.find(ids[0])
	if st == nil || len(ids) != 1 {
		return noEvent
	}
	scope := h.drain.work
	if st.resident {
		if refused := h.drain.refuses(); refused != nil {
			return refused
		}
		scope = h.drain.streamsOf(r)
	}
	ctx := lazyctx.New(r.Context(), scope)
	defer ctx.Cancel(nil)
	at, missed, ok := st.resume(ctx, n)
	if !ok {
		return noEvent
	}
	defer s.leave(at)
	s.rejoin(st)
	a := newResponder(w, h.o, ctx)
	defer a.abandon()
	a.opening = s.opening(st, n)
	if a.open() == nil && a.sendEvents(missed...) == nil {
		at.copyTo(a)
	}
	return nil
}
