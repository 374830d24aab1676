package streamhttp

import (
	"net/http"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
)

// initialize opens a session. It ignores an id that the client sends, because the server
// generates the ids. It ends the session if the core refuses it, or if the client
// disconnects before it gets the id.
//
// Spec: 2025-11-25 basic/transports#session-management
func (h *Handler) initialize(w http.ResponseWriter, r *http.Request, in *exchange.Inbound) *refusal {
	s, refused := h.sessions.open(r, in.Identity, nil)
	if refused != nil {
		return refused
	}
	s.Presence.Enter()
	defer h.sessions.leave(s)
	in.Session = s.Session
	ctx := lazyctx.New(r.Context(), h.life.work)
	defer ctx.Cancel(nil)
	reply := h.core.Request(ctx, in)
	if reply.Err != nil || s.Agreed() == nil || r.Context().Err() != nil {
		h.sessions.end(s, errSessionRefused)
		h.reply(w, reply)
		return nil
	}
	id := h.sessions.assignID(ctx, s)
	if _, refused := h.sessions.add(s); refused != nil {
		h.sessions.end(s, errSessionRefused)
		return refused
	}
	w.Header().Set(httpheader.SessionID, id)
	h.reply(w, reply)
	return nil
}

// eventStreamElsewhere refuses the GET of a client of HTTP+SSE.
var eventStreamElsewhere = refuse(http.StatusBadRequest,
	"this address serves Streamable HTTP: open a session with a POST of initialize; the event stream of HTTP+SSE has another address, by default /sse")

// streamElsewhere refuses the GET of a session that another process has opened. Clients take
// the status to mean that there is no event stream, and go on without it.
var streamElsewhere = func() *refusal {
	refused := refuse(http.StatusMethodNotAllowed, "event stream: %s", exchange.ErrElsewhere.Message)
	refused.allow = "POST, DELETE"
	return refused
}()

// session returns the session that a request names, for one use. The caller must call
// leave.
func (h *Handler) session(r *http.Request, in *exchange.Inbound) (*session, *refusal) {
	headers := standardHeaders(r.Header)
	if err := h.core.Dialect().CheckVersion(&headers); err != nil {
		return nil, refuse(http.StatusBadRequest, "%v", err)
	}
	ids := r.Header[httpheader.SessionID]
	if len(ids) == 0 && r.Method == http.MethodGet {
		return nil, eventStreamElsewhere
	}
	if len(ids) != 1 {
		return nil, refuse(http.StatusBadRequest, "session header: found %d, want the one that initialize returned", len(ids))
	}
	s, refused := h.sessions.acquire(r, ids[0], in.Identity)
	if refused != nil {
		return nil, refused
	}
	in.Session, in.Agreed = s.Session, s.Agreed()
	return s, nil
}

// sessionless answers a message of the session era that names no session. It is handled like
// one of the stateless era, for a client without capabilities.
//
// Spec: 2025-11-25 basic/transports#session-management
func (h *Handler) sessionless(w http.ResponseWriter, r *http.Request, in *exchange.Inbound) *refusal {
	if err := h.core.Dialect().CheckVersion(in.Headers); err != nil {
		return refuse(http.StatusBadRequest, "%v", err)
	}
	in.Agreed = h.core.Dialect().Sessionless(in.Headers)
	if in.Agreed == nil {
		return refuse(http.StatusBadRequest, "session header: found none, want the one that initialize returned")
	}
	return h.stateless(w, r, in)
}

// serveInSession handles a message of a session.
func (h *Handler) serveInSession(w http.ResponseWriter, r *http.Request, in *exchange.Inbound) *refusal {
	s, refused := h.session(r, in)
	if refused != nil {
		return refused
	}
	defer h.sessions.leave(s)
	switch in.Message.Kind {
	case jsonrpc.Response:
		if refused := s.resolve(r, in.Message); refused != nil {
			return refused
		}
		w.WriteHeader(http.StatusAccepted)
	case jsonrpc.Notification:
		return h.notify(s.context(r.Context()), w, in)
	default:
		st := h.stream(r, s, in, in.Message.ID)
		in.InParts = true
		h.run(s, st, s.Begin(s.context(r.Context()), h.core, in))
		h.copy(w, r, s, st)
	}
	return nil
}

// resolve ends the request of the server to which m is the response, in this process or in
// another one.
func (s *session) resolve(r *http.Request, m jsonrpc.Message) *refusal {
	if s.Resolve(m) || s.shared == nil {
		return nil
	}
	return s.shared.answer(r.Context(), m)
}

// batch handles an array of messages, which only sessions of revisions with batches may
// send.
//
// Spec: 2025-03-26 basic#batching
func (h *Handler) batch(w http.ResponseWriter, r *http.Request, in *exchange.Inbound, body []byte) *refusal {
	if !h.stateful {
		_, bad := exchange.CheckBatch(body, nil, h.limits())
		h.reply(w, exchange.MalformedBatch(bad))
		return nil
	}
	s, refused := h.session(r, in)
	if refused != nil {
		return refused
	}
	defer h.sessions.leave(s)
	items, bad := exchange.CheckBatch(body, s.Session, h.limits())
	if bad != nil {
		s.FailQuestions(bad)
		h.reply(w, exchange.MalformedBatch(bad))
		return nil
	}
	begin := func(m jsonrpc.Message) exchange.Run { return h.beginBatchItem(s, r, in, m) }
	if !slices.ContainsFunc(items, hasReply) {
		exchange.BeginBatch(items, begin)
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	if refused := h.life.refuses(); refused != nil {
		return refused
	}
	st := h.stream(r, s, in, requestIDs(items)...)
	run := exchange.BeginBatch(items, begin)
	h.run(s, st, func() (dialect.Reply, bool) {
		body := run()
		return dialect.Reply{Body: body, Status: http.StatusOK}, body != nil
	})
	h.copy(w, r, s, st)
	return nil
}

func hasReply(item jsonrpc.Item) bool {
	return item.Err != nil || item.Message.Kind == jsonrpc.Request
}

// beginBatchItem begins one message of a batch. For a request it returns the function that
// runs it, otherwise nil.
func (h *Handler) beginBatchItem(s *session, r *http.Request, batch *exchange.Inbound, m jsonrpc.Message) exchange.Run {
	in := *batch
	in.Message = m
	ctx := s.context(r.Context())
	switch m.Kind {
	case jsonrpc.Response:
		_ = s.resolve(r, m) // a response has no reply
	case jsonrpc.Notification:
		_ = h.core.Notification(ctx, &in) // an invalid one has no reply either
	default:
		return s.Begin(ctx, h.core, &in)
	}
	return nil
}

// requestIDs returns the ids of the requests in a batch.
func requestIDs(items []jsonrpc.Item) (ids []jsonrpc.ID) {
	for _, item := range items {
		if item.Err == nil && item.Message.Kind == jsonrpc.Request {
			ids = append(ids, item.Message.ID)
		}
	}
	return ids
}

// stream returns the stream that answers one POST with requests of these ids, and sets it as
// in.BackChannel.
func (h *Handler) stream(r *http.Request, s *session, in *exchange.Inbound, calls ...jsonrpc.ID) *stream {
	st := newStream(s)
	if s.shared != nil {
		for _, id := range calls {
			st.calls = append(st.calls, id.Raw())
		}
	}
	if h.optionsFor(r).answer() != AnswerJSON {
		in.BackChannel = st
		h.resumable(s, st)
		if st.log != nil && st.log.shared {
			st.of = s
		}
	}
	return st
}

// resumable gives a stream an event log, if the revision of its session has resumption.
func (h *Handler) resumable(s *session, st *stream) {
	if f := s.Agreed().Facts; f.Resume {
		st.log, st.canReconnect = newEventLog(h.events, h.o.sharedEvents() != nil && s.shared != nil, s.Owner, h.o.logger()), f.Priming
	}
}

// run runs the requests of one POST as a part of the session. They continue when the
// connection of the POST ends.
//
// Spec: 2025-11-25 basic/transports#sending-messages-to-the-server, on disconnection
func (h *Handler) run(s *session, st *stream, run exchange.Run) {
	h.sessions.spawn(s, func() {
		reply, wanted := run()
		defer st.forgetCall()
		switch {
		case st.isLeft():
			if h.life.refuses() == nil {
				s.leaveStream(st)
				return
			}
			st.end(dialect.Reply{})
			st.moveToLog()
			return
		case !wanted:
			st.end(dialect.Reply{})
			s.removeResumable(st) // its client has cancelled it
			st.moveToLog()
			return
		}
		st.end(reply)
		if st.moveToLog() || st.isOrphan() {
			s.keepDetached(st)
		}
	})
}

// copy answers a POST with the messages of its stream.
func (h *Handler) copy(w http.ResponseWriter, r *http.Request, s *session, st *stream) {
	ctx := lazyctx.New(r.Context(), nil)
	defer ctx.Cancel(nil)
	o := h.optionsFor(r)
	a := newResponder(w, o, ctx)
	a.unsent, a.owner = h.o.unsent(), s.Owner
	defer a.abandon()
	a.beforeStream, a.firstEvents = s.beforeStream(st), s.firstEvents(st, 0)
	if o.answer() != AnswerJSON {
		h.timeouts.add(a)
	}
	sw := st.attach(ctx)
	defer s.detach(sw)
	sw.copyTo(a)
}

// delete ends a session at the request of its client.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request) *refusal {
	s, refused := h.session(r, &exchange.Inbound{Identity: mcp.IdentityFrom(r.Context())})
	if refused != nil {
		return refused
	}
	defer h.sessions.leave(s)
	if s.shared != nil {
		if err := s.shared.End(r.Context()); err != nil {
			return refuseError(http.StatusServiceUnavailable, err)
		}
	}
	h.sessions.end(s, errSessionDeleted)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
