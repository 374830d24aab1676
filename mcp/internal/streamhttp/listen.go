package streamhttp

import (
	"context"
	"net/http"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/limit"
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
	if refused := mayStream(r.Header); refused != nil {
		return refused
	}
	by := mcp.IdentityFrom(r.Context())
	crowded, leave := context.WithCancelCause(r.Context())
	defer leave(nil)
	s, place, refused := h.listener(r, by, leave)
	if refused != nil {
		return refused
	}
	defer h.sessions.leave(s)
	defer place.Release()
	ctx, cancel := exchange.WhileValid(crowded, by)
	defer cancel()
	if ids := r.Header[httpheader.LastEventID]; len(ids) > 0 {
		return h.resume(ctx, w, r, s, ids)
	}
	return h.listen(ctx, w, r, s)
}

// mayStream refuses a GET that is not for an event stream.
func mayStream(header http.Header) *refusal {
	if wantsPage(header) {
		return page(http.StatusNotAcceptable)
	}
	return checkAccept(header, httpheader.TypeEventStream)
}

// listener returns the session that a GET names, for one use, with a place among the
// streams. leave ends the stream when another owner gets the place.
func (h *Handler) listener(r *http.Request, by *mcp.Identity, leave context.CancelCauseFunc) (*session, *limit.Place, *refusal) {
	s, refused := h.session(r, &exchange.Inbound{Identity: by})
	if refused != nil {
		return nil, nil, refused
	}
	place, refused := h.streams.take(s.Owner, func() { leave(h.streams.crowdedOut(s.Owner)) })
	if refused != nil {
		h.sessions.leave(s)
		return nil, nil, refused
	}
	return s, place, nil
}

// listen opens a stream for the messages that belong to no request.
func (h *Handler) listen(ctx context.Context, w http.ResponseWriter, r *http.Request, s *session) *refusal {
	if refused := h.drain.refuses(); refused != nil {
		return refused
	}
	connection := lazyctx.New(ctx, h.drain.streamsOf(r))
	defer connection.Cancel(nil)
	a := newResponder(w, h.o, connection)
	defer a.abandon()
	st := newStream()
	st.resident = true
	h.resumable(s, st)
	a.opening = s.opening(st, 0)
	at := s.listen(connection, st) // and then say so
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
func (h *Handler) resume(ctx context.Context, w http.ResponseWriter, r *http.Request, s *session, ids []string) *refusal {
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
	connection := lazyctx.New(ctx, scope)
	defer connection.Cancel(nil)
	at, missed, ok := st.resume(connection, n)
	if !ok {
		return noEvent
	}
	defer s.leave(at)
	s.rejoin(st)
	a := newResponder(w, h.o, connection)
	defer a.abandon()
	a.opening = s.opening(st, n)
	if a.open() == nil && a.sendEvents(missed...) == nil {
		at.copyTo(a)
	}
	return nil
}
