package dialect

import (
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// openStateless opens a message of the stateless era. The order of the checks
// is part of the contract: required metadata, headers, version, method.
//
// Spec: 2026-07-28 basic/versioning; basic/transports#streamable-http
func (s *Server) openStateless(m jsonrpc.Message, meta RequestMeta, in TransportInfo) (*Call, error) {
	c := &Call{
		Facts: Newest(StatelessEra), ID: m.ID, Method: m.Method, Params: m.Params, Meta: meta,
		Client: meta.ClientInfo, Capabilities: meta.Capabilities, Headers: in.Headers, server: s, inParts: in.InParts,
	}
	if c.Capabilities == nil {
		c.Capabilities = &noCapabilities
	}
	if m.Kind == jsonrpc.Notification {
		return c, checkNotification(m)
	}
	if m.Method == mcp.MethodPing && meta.Version == nil && meta.Capabilities == nil {
		c.Facts = s.before // some clients keep the ping of older revisions
		return c, nil
	}
	switch {
	case meta.Version == nil:
		return c, badRequest(mcp.CodeInvalidParams, "_meta: %s is missing: want the revision of the request", keyVersion)
	case meta.Capabilities == nil:
		return c, badRequest(mcp.CodeInvalidParams, "_meta: %s is missing: want an object, {} for none", keyCapabilities)
	}
	if in.Headers != nil {
		if err := in.Headers.checkRequired(*meta.Version, m, s.naming); err != nil {
			return c, err
		}
	}
	f := s.statelessNamed(*meta.Version)
	if f == nil || in.Binding == EventStream {
		return c, s.unsupported(*meta.Version, in.Binding)
	}
	c.Facts = f
	if !s.knows(c) {
		return c, &Refusal{Err: mcp.Errorf(mcp.CodeMethodNotFound, "method %q: not found", clip(m.Method)), Status: statusNotFound}
	}
	if meta.LogLevel != nil && !meta.LogLevel.Valid() {
		return c, mcp.Errorf(mcp.CodeInvalidParams, "_meta: %s: unknown level %q", keyLogLevel, clip(string(*meta.LogLevel)))
	}
	return c, nil
}

func (s *Server) statelessNamed(name string) *Facts {
	for _, f := range s.served {
		if f.Era == StatelessEra && f.Revision.String() == name {
			return f
		}
	}
	return nil
}

// unsupported returns the unsupported-version error, which lists the served
// revisions.
func (s *Server) unsupported(requested string, b Binding) error {
	supported := s.versions(func(f *Facts) bool { return b != EventStream || f.EventStream })
	r := badRequest(mcp.CodeUnsupportedVersion, "protocol version %q: want one of %v", clip(requested), supported)
	r.Err.Data = versionData(requested, supported)
	return r
}
