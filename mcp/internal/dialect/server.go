package dialect

import (
	"encoding/json/v2"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// Binding is the kind of transport of a message, as far as the rules of a
// revision depend on it.
type Binding uint8

const (
	// Stream is one ordered connection: stdio, memory, sockets.
	Stream Binding = iota
	// EventStream is HTTP+SSE: one event stream and a POST endpoint beside it.
	EventStream
	// Streamable is Streamable HTTP of any revision.
	Streamable
)

// HTTP statuses of a Refusal, declared here to avoid importing net/http.
const (
	statusOK         = 200
	statusBadRequest = 400
	statusForbidden  = 403
	statusNotFound   = 404
)

// TransportInfo holds what a pipe knows about an inbound message in addition to its
// bytes.
type TransportInfo struct {
	Binding Binding
	// Headers of the request over Streamable HTTP, otherwise nil.
	Headers *Headers
	// Session of the message, or nil before initialize and without sessions.
	Session *Session
	// InParts means that the pipe writes replies in parts, so that large
	// encoded results need no copy.
	InParts bool
}

// ServerParams configure a Server.
type ServerParams struct {
	// Revisions to serve; empty means all.
	Revisions []mcp.Revision
	// Info is the server's Implementation.
	Info mcp.Implementation
	// Custom reports whether a method is served to callers of a revision that
	// does not define it.
	Custom func(f *Facts, method string) bool
	// NameMember returns the member of params that the name header repeats in
	// requests of an extension's method, or "". May be nil.
	NameMember func(method string) string
}

// Server decodes the messages that clients send and encodes those that they
// get. It is immutable and safe for concurrent use.
type Server struct {
	served   []*Facts // oldest first
	before   *Facts   // facts of a session that does not exist yet
	info     mcp.Implementation
	custom   func(*Facts, string) bool
	naming   func(string) string
	identity []byte // member of the metadata of every stateless result
}

// NewServer returns a Server.
func NewServer(p ServerParams) *Server {
	s := &Server{info: p.Info, custom: p.Custom, naming: p.NameMember}
	s.served = Supported(p.Revisions)
	slices.Reverse(s.served)
	s.before = s.sessionFacts("")
	if s.before == nil {
		s.before = Newest(SessionEra)
	}
	s.identity = identity(p.Info)
	return s
}

// Name returns the name of the server's Implementation.
func (s *Server) Name() string { return s.info.Name }

// Versions returns the names of the revisions served, newest first.
func (s *Server) Versions() []string { return s.versions(func(*Facts) bool { return true }) }

// versions returns the names of the revisions for which the function returns
// true, newest first.
func (s *Server) versions(fits func(*Facts) bool) []string {
	var names []string
	for _, f := range slices.Backward(s.served) {
		if fits(f) {
			names = append(names, f.Revision.String())
		}
	}
	return names
}

// Serves reports whether any revision of the era is served.
func (s *Server) Serves(era Era) bool {
	return slices.ContainsFunc(s.served, func(f *Facts) bool { return f.Era == era })
}

// NumberHeaders reports whether headers may mirror arguments that are numbers:
// clients of some served revision expect it, and those of no served revision
// reject the tool because of it.
//
// Spec: 2026-07-28 basic/transports#custom-headers-from-tool-parameters
func (s *Server) NumberHeaders() bool {
	return !s.Serves(StatelessEra) && slices.ContainsFunc(s.served, func(f *Facts) bool { return f.NumberHeaders })
}

// Open converts a request or notification to a Call. If it refuses the message,
// it returns an *mcp.Error or a *Refusal, and still a Call, which encodes the
// error for the caller.
//
// IsStateless says which era the message belongs to.
func (s *Server) Open(m jsonrpc.Message, in TransportInfo) (*Call, error) {
	era := SessionEra
	if s.IsStateless(m, in.Headers, in.Session != nil) {
		era = StatelessEra
	}
	raw, name := findMeta(m.Params)
	meta, err := readRequestMeta(raw, era)
	if err != nil {
		return s.openUnreadable(m, in, era, err)
	}
	var c *Call
	var refusal error
	if era == StatelessEra {
		c, refusal = s.openStateless(m, meta, in)
	} else {
		c, refusal = s.openSession(m, meta, in)
	}
	c.name = name
	return c, refusal
}

// openUnreadable refuses a message whose metadata cannot be decoded.
func (s *Server) openUnreadable(m jsonrpc.Message, in TransportInfo, era Era, err *mcp.Error) (*Call, error) {
	c := &Call{ID: m.ID, Method: m.Method, Capabilities: &noCapabilities, Session: in.Session, server: s}
	if era == StatelessEra {
		c.Facts, c.Session = Newest(StatelessEra), nil
		return c, &Refusal{Err: err, Status: statusBadRequest}
	}
	c.Facts = s.factsOf(in.Session)
	return c, err
}

// IsStateless reports whether Open treats m as a message of the stateless era. The method does not
// matter, but for the first initialize with an offer, which opens a session. Without a session, a version
// header or metadata of the stateless era decide, unless header and metadata name the same revision with
// sessions. In a session, the keys of the stateless era have
// no meaning and belong to clients that send them to all servers; only a message that names a
// stateless revision as its own is of that era: over HTTP in the version header, over a connection
// in its metadata.
func (s *Server) IsStateless(m jsonrpc.Message, h *Headers, inSession bool) bool {
	meta := rawjson.Member(m.Params, "_meta")
	switch {
	case h.namesStateless():
		return true
	case !inSession && opensSession(m):
		return false
	case !inSession:
		return marksStateless(meta) && !h.namesSessionOf(meta)
	}
	return h == nil && namesStateless(rawjson.Member(meta, keyVersion))
}

// opensSession reports whether a message asks for a session: it offers a revision that has them. The stateless era
// has no such method.
func opensSession(m jsonrpc.Message) bool {
	if m.Kind != jsonrpc.Request || m.Method != mcp.MethodInitialize {
		return false
	}
	offer := rawjson.Member(m.Params, "protocolVersion")
	return offer.Kind() == '"' && !namesStateless(offer)
}

func (s *Server) factsOf(session *Session) *Facts {
	if session != nil {
		return session.Facts
	}
	return s.before
}

// knows reports whether the call's method exists in its revision or was added
// by the author of the server or an extension.
func (s *Server) knows(c *Call) bool {
	return c.Facts.ClientRequests[c.Method] || s.custom != nil && s.custom(c.Facts, c.Method)
}

// Defines reports whether any revision defines the method for clients to send.
func Defines(method string) bool {
	return anyRevision[method] || slices.ContainsFunc(facts, func(f *Facts) bool { return f.ClientNotifications[method] })
}

// ExtensionMay reports whether an extension may define a request or
// notification of clients: none of the extension's revisions has the method in
// its core. Its revisions are those of the stateless era and, with sessions,
// those of the session era.
func ExtensionMay(method string, sessions bool) bool {
	return !slices.ContainsFunc(facts, func(f *Facts) bool {
		return (sessions || f.Era == StatelessEra) && (f.ClientRequests[method] || f.ClientNotifications[method])
	})
}

// anyRevision holds the methods of every revision.
var anyRevision = func() map[string]bool {
	all := make(map[string]bool)
	for _, f := range facts {
		for m := range f.ClientRequests {
			all[m] = true
		}
	}
	return all
}()

// checkNotification refuses a request method without an id. Handled as a
// notification it would delay the messages after it and could not be cancelled.
func checkNotification(m jsonrpc.Message) error {
	if anyRevision[m.Method] {
		return mcp.Errorf(mcp.CodeInvalidRequest, "%s: want an id, since it is a request", m.Method)
	}
	return nil
}

// Refusal is an error with an HTTP status for bindings that have one. Most refusals happen before
// any handler runs.
type Refusal struct {
	Err    *mcp.Error
	Status int
	// Challenge is the WWW-Authenticate header. May be empty.
	Challenge string
}

// Forbid returns the refusal of a request that needs scopes which its sender
// was not granted.
//
// Spec: 2026-07-28 basic/authorization#runtime-insufficient-scope-errors
func Forbid(method string, scopes []string, challenge string) *Refusal {
	err := mcp.Errorf(mcp.CodeInsufficientScope, "%s: not granted: want the scopes %q", clip(method), strings.Join(scopes, " "))
	err.Data, _ = json.Marshal(mcp.InsufficientScopeData{RequiredScopes: scopes})
	return &Refusal{Err: err, Status: statusForbidden, Challenge: challenge}
}

func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap gives access to the protocol error.
func (r *Refusal) Unwrap() error { return r.Err }

// NeedsSession returns the refusal of a request that is not possible without a session.
//
// Spec: 2025-11-25 basic/transports#session-management
func NeedsSession(method string) *Refusal {
	return badRequest(mcp.CodeInvalidRequest, "%s: no session: send initialize first", clip(method))
}

func badRequest(code mcp.Code, format string, args ...any) *Refusal {
	return &Refusal{Err: mcp.Errorf(code, format, args...), Status: statusBadRequest}
}
