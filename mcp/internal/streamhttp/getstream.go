package streamhttp

import (
	"context"
	"net/http"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// firstEvents returns a function that returns the first events of an event stream that
// continues after event n. A call of it makes the stream resumable.
func (s *session) firstEvents(st *stream, n int64) func() []sse.Event {
	if st.log == nil {
		return nil
	}
	return func() []sse.Event {
		s.makeResumable(st)
		return st.primingEvent(n)
	}
}

// beforeStream returns a function that stores the record of a stream, with which other processes
// can continue it.
func (s *session) beforeStream(st *stream) func() {
	if st.log == nil || s.shared == nil {
		return nil
	}
	return func() { s.shared.all.streams.put(s, st) }
}

// get opens a stream for the messages that belong to no request, or resumes a stream.
// The connection ends when the credentials that opened it expire. The client then
// reconnects with new ones.
//
// Spec: 2025-11-25 basic/transports#listening-for-messages-from-the-server
func (h *Handler) get(w http.ResponseWriter, r *http.Request) *refusal {
	if refused := checkGet(r.Header); refused != nil {
		return refused
	}
	by := mcp.IdentityFrom(r.Context())
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	s, release, refused := h.getStreamSession(r, by, end)
	if refused != nil {
		return refused
	}
	defer h.sessions.leave(s)
	defer release()
	ctx, cancel := exchange.WhileValid(ctx, by)
	defer cancel()
	ctx, expire := lazyctx.WithDeadline(ctx, s.expires, errSessionExpired)
	defer expire()
	if ids := r.Header[httpheader.LastEventID]; len(ids) > 0 {
		return h.resume(ctx, w, r, s, ids)
	}
	return h.openGetStream(ctx, w, r, s)
}

// checkGet refuses a GET that does not accept an event stream.
func checkGet(header http.Header) *refusal {
	if wantsPage(header) {
		return page(http.StatusNotAcceptable)
	}
	return checkAccept(header, httpheader.TypeEventStream)
}

// getStreamSession returns the session that a GET names, for one use that needs a call of
// leave, and a function that frees the places of its stream. It calls end when another owner
// gets one.
func (h *Handler) getStreamSession(r *http.Request, by *mcp.Identity, end context.CancelCauseFunc) (*session, func(), *refusal) {
	s, refused := h.session(r, &exchange.Inbound{Identity: by})
	if refused == nil && s.Elsewhere && s.shared == nil && len(r.Header[httpheader.LastEventID]) == 0 {
		h.sessions.leave(s)
		refused = streamElsewhere
	}
	if refused != nil {
		return nil, nil, refused
	}
	release, refused := h.streams.takeStream(r, s.Owner, end)
	if refused != nil {
		h.sessions.leave(s)
		return nil, nil, refused
	}
	return s, release, nil
}

// openGetStream opens a stream for the messages that belong to no request.
func (h *Handler) openGetStream(ctx context.Context, w http.ResponseWriter, r *http.Request, s *session) *refusal {
	if refused := h.life.refuses(); refused != nil {
		return refused
	}
	if s.shared != nil {
		if err := s.shared.takeOver(ctx, "", false); err != nil {
			return refuseTakeOver(err)
		}
	}
	st := newStream(s)
	st.standalone = true
	h.resumable(s, st)
	return h.serveGetStream(ctx, w, r, s, st, nil)
}

// refuseTakeOver returns the refusal of a GET at a process that cannot notify the client.
func refuseTakeOver(err error) *refusal {
	if err == error(sessionUnknown.err) {
		return sessionUnknown
	}
	return refuseError(http.StatusServiceUnavailable, err)
}

// serveGetStream writes a new GET stream, after the events that the client has missed.
func (h *Handler) serveGetStream(ctx context.Context, w http.ResponseWriter, r *http.Request, s *session, st *stream, missed []sse.Event) *refusal {
	if refused := h.life.refuses(); refused != nil {
		return refused
	}
	connection := lazyctx.New(ctx, h.life.streamsOf(r))
	defer connection.Cancel(nil)
	a := newResponder(w, h.o, connection)
	a.unsent, a.owner = h.o.unsent(), s.Owner
	defer a.abandon()
	h.core.Initialized(s.Session) // which the client may have told another process only
	a.beforeStream, a.firstEvents = s.beforeStream(st), after(missed, s.firstEvents(st, 0))
	sw := s.attachGetStream(connection, st) // before the response begins, so that no message is missed after it
	defer s.detach(sw)
	if a.open() == nil {
		sw.copyTo(a)
	}
	return nil
}

// after returns a function that returns the events before those of f, which may be nil. The id
// of the last event must be the one to resume after.
func after(before []sse.Event, f func() []sse.Event) func() []sse.Event {
	if f == nil || len(before) == 0 {
		return f
	}
	return func() []sse.Event { return append(before, f()...) }
}

// resume continues a stream on this connection, after an event. While the server shuts
// down, the stream of a running call can still be resumed.
//
// Spec: 2025-11-25 basic/transports#resumability-and-redelivery
func (h *Handler) resume(ctx context.Context, w http.ResponseWriter, r *http.Request, s *session, ids []string) *refusal {
	st, n := s.findStream(ids[0])
	switch {
	case s.shared != nil && len(ids) == 1 && (st == nil || st.standalone && !s.Notifies()):
		return h.resumeElsewhere(ctx, w, r, s, ids[0])
	case st == nil && s.Elsewhere:
		return streamElsewhere
	case st == nil && s.Reopened: // its streams are lost, which an id without a session tells every client
		h.sessions.end(s, errSessionEnded)
		return sessionUnknown
	case st == nil || len(ids) != 1:
		return eventNotFound
	}
	scope := h.life.work
	if st.standalone {
		if refused := h.life.refuses(); refused != nil {
			return refused
		}
		scope = h.life.streamsOf(r)
	}
	return h.resumeHere(lazyctx.New(ctx, scope), w, s, st, n, nil)
}

// resumeHere continues a stream of this process on a connection after event n, and after the events
// of the streams that it continues.
func (h *Handler) resumeHere(connection *lazyctx.Context, w http.ResponseWriter, s *session, st *stream, n int64, before []sse.Event) *refusal {
	defer connection.Cancel(nil)
	sw, missed, ok := st.resume(connection, n)
	if !ok {
		return eventNotFound
	}
	defer s.detach(sw)
	s.readdGetStream(st)
	a := newResponder(w, h.o, connection)
	a.unsent, a.owner = h.o.unsent(), s.Owner
	defer a.abandon()
	a.beforeStream, a.firstEvents = s.beforeStream(st), after(before, s.firstEvents(st, n))
	if a.open() == nil && a.sendEvents(missed...) == nil {
		sw.copyTo(a)
	}
	return nil
}
