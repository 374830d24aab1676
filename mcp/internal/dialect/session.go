package dialect

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
	"github.com/fondaco/fondaco/mcp/internal/textcache"
)

// Session is the state that one initialize negotiated. Open uses it for every
// later call of the session. It is safe for concurrent use.
type Session struct {
	Facts *Facts
	// The client's info. It can be shared with other sessions and must not be changed.
	Client       *mcp.Implementation
	Capabilities *mcp.ClientCapabilities

	level atomic.Pointer[mcp.LoggingLevel]
}

// LogLevel returns the minimum level that the client has set. The default is
// info.
//
// Spec: 2025-11-25 server/utilities/logging#setting-log-level
func (s *Session) LogLevel() (mcp.LoggingLevel, bool) {
	if l := s.level.Load(); l != nil {
		return *l, true
	}
	return mcp.LevelInfo, true
}

// SetLogLevel sets the minimum level of log messages to send.
func (s *Session) SetLogLevel(l mcp.LoggingLevel) error {
	if !l.Valid() {
		return mcp.Errorf(mcp.CodeInvalidParams, "logging/setLevel: level %q: want one of debug, info, notice, warning, error, critical, alert, emergency", clip(string(l)))
	}
	s.level.Store(&l)
	return nil
}

// Negotiate answers an initialize request. It chooses the revision that the
// client offered if this server serves it, otherwise the newest revision of the
// session era that it serves.
//
// Spec: 2025-11-25 basic/lifecycle#version-negotiation
func (s *Server) Negotiate(c *Call) (*Session, error) {
	info, can := rawjson.Member(c.Params, "clientInfo"), rawjson.Member(c.Params, "capabilities")
	if err := checkOffer(info, can); err != nil {
		return nil, err
	}
	var offer mcp.InitializeParams
	if err := c.Decode(&offer); err != nil {
		if _, unreadable := DecodeLenient(orEmpty(c.Params), &offer); unreadable != nil {
			return nil, err
		}
	}
	if offer.ProtocolVersion == "" {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "initialize: protocolVersion: want a revision such as %q", Newest(SessionEra).Revision)
	}
	f := s.sessionFacts(offer.ProtocolVersion)
	if f == nil {
		r := badRequest(mcp.CodeInvalidParams, "initialize: want requests of one of %v, which need no initialize", s.Versions())
		r.Err.Data = versionData(offer.ProtocolVersion, s.Versions())
		return nil, r
	}
	if f.StandardHeaders && c.Headers != nil { // which other offers need not have
		c.Facts = f
		if err := c.Headers.compare(jsonrpc.Message{Method: c.Method, Params: c.Params}, s.naming, true); err != nil {
			return nil, err
		}
	}
	return &Session{
		Facts:        f,
		Client:       shared(implementations, info, &offer.ClientInfo),
		Capabilities: shared(capabilities, can, &offer.Capabilities),
	}, nil
}

// shared returns the decoded value of a text from the cache if possible, or else a copy of own,
// which may be a part of something larger.
func shared[T any](c *textcache.Cache[T], text jsontext.Value, own *T) *T {
	if value, err := c.Get(text); err == nil && value != nil {
		return value
	}
	return new(*own)
}

// sessionFacts returns the facts that an offered version leads to, or nil if
// the server serves no revision of the session era. A draft is chosen only for
// clients that offer it.
func (s *Server) sessionFacts(offer string) *Facts {
	var newest *Facts
	for _, f := range s.served {
		if f.Era != SessionEra {
			continue
		}
		if f.Revision.String() == offer {
			return f
		}
		if newest == nil || !f.Draft {
			newest = f
		}
	}
	return newest
}

// openSession opens a message without the metadata of the stateless era. The
// session provides everything else that the call needs. On a stream, which programs share
// among several clients, initialize may be repeated: it begins as the first one does.
func (s *Server) openSession(m jsonrpc.Message, meta RequestMeta, in TransportInfo) (*Call, error) {
	if m.Kind == jsonrpc.Request && m.Method == mcp.MethodInitialize && in.Binding == Stream {
		in.Session = nil
	}
	c := &Call{
		ID: m.ID, Method: m.Method, Params: m.Params, Meta: meta,
		Facts: s.before, Capabilities: &noCapabilities, Session: in.Session, Headers: in.Headers, server: s, inParts: in.InParts,
	}
	if in.Session != nil {
		c.Facts = in.Session.Facts
		c.Client = in.Session.Client
		c.Capabilities = in.Session.Capabilities
	}
	if err := s.checkSessionHeaders(in.Headers, m, c.Facts.StandardHeaders && in.Session != nil); err != nil {
		return c, err
	}
	if m.Kind == jsonrpc.Notification {
		return c, checkNotification(m)
	}
	switch {
	case m.Method == mcp.MethodInitialize && in.Session != nil:
		return c, mcp.Errorf(mcp.CodeInvalidRequest, "initialize: this session is initialized already")
	case m.Method == mcp.MethodInitialize && s.sessionFacts("") == nil:
		_, err := s.Negotiate(c)
		return c, err
	case m.Method == mcp.MethodInitialize, m.Method == mcp.MethodPing:
		return c, nil
	case in.Session == nil:
		return c, mcp.Errorf(mcp.CodeInvalidRequest, "%s: no session: send initialize first, or the _meta of %s with every request", clip(m.Method), Newest(StatelessEra).Revision)
	case !s.knows(c):
		return c, mcp.Errorf(mcp.CodeMethodNotFound, "method %q: not found", clip(m.Method))
	}
	return c, nil
}

// CheckVersion refuses a version header of the session era whose revision is
// not served. It accepts a message without the header.
//
// Spec: 2025-11-25 basic/transports#protocol-version-header
func (s *Server) CheckVersion(h *Headers) error {
	if h == nil || len(h.Version) == 0 || len(h.Version) == 1 && s.sessionNamed(h.Version[0]) != nil {
		return nil
	}
	served := s.versions(func(f *Facts) bool { return f.Era == SessionEra })
	return badRequest(mcp.CodeInvalidRequest, "protocol version header %q: want one of %v, once", clip(h.Version[0]), served)
}

// checkSessionHeaders compares the headers of an HTTP request of the session
// era with the message; it compares standard headers that are not required if
// they are present.
func (s *Server) checkSessionHeaders(h *Headers, m jsonrpc.Message, required bool) error {
	if h == nil {
		return nil
	}
	if err := s.CheckVersion(h); err != nil {
		return err
	}
	return h.compare(m, s.naming, required)
}

// sessionNamed returns the facts of the served session-era revision of that name.
func (s *Server) sessionNamed(name string) *Facts {
	i := slices.IndexFunc(s.served, func(f *Facts) bool {
		return f.Era == SessionEra && f.Revision.String() == name
	})
	if i < 0 {
		return nil
	}
	return s.served[i]
}

// noCapabilities are the capabilities of a caller that declared none.
var noCapabilities mcp.ClientCapabilities

// versionData is the data of an unsupported-version error.
func versionData(requested string, supported []string) jsontext.Value {
	data, _ := json.Marshal(struct {
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}{supported, clip(requested)})
	return data
}
