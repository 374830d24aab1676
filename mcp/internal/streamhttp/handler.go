package streamhttp

import (
	"context"
	"errors"
	"net/http"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// Handler is the endpoint of Streamable HTTP, for every revision and both eras
// on one path. Make one with NewHandler.
type Handler struct {
	core     exchange.Core
	o        *Options
	jsonOnly *Options // o for clients that do not accept event streams
	gate     *originCheck
	methods  string // that are served
	stateful bool   // the session era is served
	life     *lifetime
	sessions *sessions
	streams  *quota
	timeouts jsonTimeouts
	events   mcp.EventStore
}

var _ http.Handler = (*Handler)(nil)

// NewHandler returns the endpoint of a server. A nil Options gives the
// defaults. It panics when an allowed host or origin could never match. The
// handler needs one Close or Shutdown.
func NewHandler(core exchange.Core, o *Options) *Handler {
	h := &Handler{
		core:     core,
		o:        o,
		gate:     newOriginCheck(o),
		methods:  http.MethodPost,
		stateful: core.Dialect().Serves(dialect.SessionEra),
		life:     newLifetime(),
		streams:  newStreamQuota(o),
		events:   o.events(),
	}
	if h.stateful {
		h.methods = "GET, POST, DELETE"
	}
	jsonOnly := *o.orZero()
	jsonOnly.Answer = AnswerJSON
	h.jsonOnly = &jsonOnly
	h.sessions = newSessions(core, &h.life.running, o)
	return h
}

// Refuse refuses new requests from now on, with status 503. Streams and running requests
// continue, and so do the messages that clients send for them.
func (h *Handler) Refuse() { h.life.refuse() }

// Shutdown refuses new requests, ends the streams that serve no request, and waits for
// the running requests until ctx is done. Messages that clients send for running requests
// are accepted meanwhile. When ctx ends first, Shutdown cancels the requests that still
// run and returns the cause of ctx. It ends the sessions last.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.life.begin()
	err := h.life.wait(ctx)
	h.cancel()
	return err
}

// Close cancels everything at once and returns after the last handler has returned.
func (h *Handler) Close() error {
	h.life.begin()
	h.cancel()
	return h.life.wait(context.Background())
}

func (h *Handler) cancel() {
	h.life.cancelWork(errShutdown)
	h.sessions.close(errShutdown)
}

// ServeHTTP answers one request. The order of the checks is part of the
// contract: host, origin, method, media types, size of the body, and only then
// the message.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer h.o.abortOnPanic(r)
	h.o.setConnectionClose(w.Header())
	w = h.o.wire(w, r)
	refused := h.serve(w, r)
	if refused != nil {
		h.o.report(refused, r)
		writeRefusal(w, r, refused)
	}
	wireOf(w).end(refused)
}

// serve answers the request, or returns the refusal to answer with.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) *refusal {
	if refused := h.gate.admit(w, r); refused != nil {
		return refused
	}
	limit.AdmitConn(r.Context())
	if !h.life.running.Join() {
		return shuttingDown
	}
	defer h.life.running.Leave()
	switch {
	case r.Method == http.MethodPost:
		return h.post(w, r)
	case r.Method == http.MethodGet && h.stateful:
		return h.get(w, r)
	case r.Method == http.MethodDelete && h.stateful:
		return h.delete(w, r)
	case h.gate.preflight(w, r, h.methods):
		return nil
	}
	return notAllowed(r, h.methods)
}

// notAllowed refuses a method. A browser's user gets a sentence.
func notAllowed(r *http.Request, methods string) *refusal {
	refused := refuse(http.StatusMethodNotAllowed, "method %s: want one of %s", clip(r.Method), methods)
	if r.Method == http.MethodGet && wantsPage(r.Header) {
		refused = page(http.StatusMethodNotAllowed)
	}
	refused.allow = methods
	return refused
}

// page refuses a request of a browser with a sentence for its user.
func page(status int) *refusal {
	refused := refuse(status, "This is an endpoint of the Model Context Protocol. Give its address to an MCP client, such as an AI application.")
	refused.page = true
	return refused
}

func (h *Handler) post(w http.ResponseWriter, r *http.Request) *refusal {
	in, refused := h.readMessage(w, r)
	if in == nil {
		return refused
	}
	return h.dispatch(w, r, in).afterBody()
}

// readMessage reads one message. It returns nil for a request that it has answered or
// that it refuses. It is a function of its own so that its stack frame is freed before a
// long-lived stream waits.
func (h *Handler) readMessage(w http.ResponseWriter, r *http.Request) (*exchange.Inbound, *refusal) {
	if refused := checkContent(r.Header); refused != nil {
		return nil, refused
	}
	if refused := h.checkAcceptOfPost(r.Header); refused != nil {
		return nil, refused
	}
	body, refused := readBody(w, r, h.o.maxBody())
	in := h.newInbound(r)
	if refused != nil && refused.head != nil {
		h.failQuestions(r, in, jsonrpc.Incomplete(refused.err.Message, refused.head, nil))
	}
	if refused != nil {
		return nil, refused
	}
	if jsonrpc.IsBatch(body) {
		return nil, h.batch(w, r, in, body).afterBody()
	}
	m, err := jsonrpc.Decode(body, h.limits())
	if err != nil {
		if bad, ok := errors.AsType[*jsonrpc.DecodeError](err); ok {
			h.failQuestions(r, in, bad)
			h.reply(w, exchange.Malformed(bad))
		}
		return nil, nil
	}
	in.Message = m
	return in, nil
}

// failQuestions fails the question of the request's session to which a body that could not be
// read is the answer.
func (h *Handler) failQuestions(r *http.Request, in *exchange.Inbound, bad *jsonrpc.DecodeError) {
	if bad.Kind != jsonrpc.Response || !h.stateful {
		return
	}
	if s, refused := h.session(r, in); refused == nil {
		s.FailQuestions(bad)
		h.sessions.leave(s)
	}
}

// checkAcceptOfPost refuses a client that does not accept the answers of this server. Clients
// have to accept event streams as well, but where JSON will do they need not.
func (h *Handler) checkAcceptOfPost(header http.Header) *refusal {
	if h.o.answer() == AnswerStream {
		return checkAccept(header, httpheader.TypeJSON, httpheader.TypeEventStream)
	}
	return checkAccept(header, httpheader.TypeJSON)
}

// optionsFor returns the options for the answer to one request: always JSON for a client that
// does not accept event streams. Handlers cannot send anything before that.
func (h *Handler) optionsFor(r *http.Request) *Options {
	if checkAccept(r.Header, httpheader.TypeEventStream) != nil {
		return h.jsonOnly
	}
	return h.o
}

// limits returns the limits of the core, with the one of bodies for those that are repaired.
func (h *Handler) limits() jsonrpc.Limits {
	l := h.core.Limits()
	l.Repaired = int(h.o.maxBody())
	return l
}

// newInbound returns an Inbound for the message of a request, without the message.
func (h *Handler) newInbound(r *http.Request) *exchange.Inbound {
	by := mcp.IdentityFrom(r.Context())
	in := &struct {
		exchange.Inbound
		headers dialect.Headers
		sender  limit.Owner
	}{headers: standardHeaders(r.Header), sender: h.o.ownerOf(r, by, 0)}
	in.Inbound = exchange.Inbound{
		Binding:        dialect.Streamable,
		Headers:        &in.headers,
		Identity:       by,
		StatelessOwner: &in.sender,
		HTTP:           exchange.DescribeHTTP(r),
	}
	return &in.Inbound
}

// dispatch handles one message in its era. The session header of a message whose version header names
// a stateless revision has no effect.
//
// Spec: 2026-07-28 basic/versioning#serving-both-eras
func (h *Handler) dispatch(w http.ResponseWriter, r *http.Request, in *exchange.Inbound) *refusal {
	m := in.Message
	if m.Kind == jsonrpc.Request {
		if refused := h.life.refuses(); refused != nil {
			return refused
		}
	}
	inSession := len(r.Header[httpheader.SessionID]) > 0
	switch {
	case !h.stateful || h.core.Dialect().IsStateless(m, in.Headers, inSession):
		return h.stateless(w, r, in)
	case m.Kind == jsonrpc.Request && m.Method == mcp.MethodInitialize:
		return h.initialize(w, r, in)
	case !inSession:
		return h.sessionless(w, r, in)
	}
	return h.serveInSession(w, r, in)
}

// reply writes a reply without running a handler.
func (h *Handler) reply(w http.ResponseWriter, reply dialect.Reply) {
	a := newResponder(w, h.o, nil)
	defer a.abandon()
	a.finish(&reply)
}

// notify handles a notification. In a session it answers before the handler has run, and
// handlers run in the order in which the notifications were read. Without a session it
// answers when the handler has returned.
func (h *Handler) notify(ctx context.Context, w http.ResponseWriter, in *exchange.Inbound) *refusal {
	err := h.core.Notification(ctx, in)
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		reply := dialect.Refuse(jsonrpc.ID{}, e)
		return &refusal{status: reply.Status, err: e, retry: reply.Retry}
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}
