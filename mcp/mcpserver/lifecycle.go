package mcpserver

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/registry"
)

// initialize opens a session of the session era. On a stream it may be repeated, because
// programs start one server for several clients: calls that run go on, while the questions
// and subscriptions of the client before end. What the connection holds is charged to the
// same owner as before.
//
// Spec: 2025-11-25 basic/lifecycle#initialization
func (s *Server) initialize(_ context.Context, r *Request) (any, error) {
	if r.in.Session == nil {
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "initialize: this transport has no sessions")
	}
	agreed, err := s.dialect.Negotiate(r.call)
	if err != nil {
		return nil, err
	}
	switch session := r.in.Session; {
	case session.Agree(agreed):
	case r.in.Binding == dialect.Stream:
		session.AgreeAgain(agreed)
		s.hub.RemoveSession(session)
		s.urlElicitations.forget(session)
	default:
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "initialize: this session is initialized already")
	}
	r.call.Facts, r.call.Session = agreed.Facts, agreed
	return &mcp.InitializeResult{
		ProtocolVersion: agreed.Facts.Revision.String(),
		Capabilities:    s.capabilities(agreed.Facts),
		ServerInfo:      s.info,
		Instructions:    s.options.instructions(),
	}, nil
}

// initialized subscribes a session to change notifications. Before notifications/initialized
// the client may not have read the response to initialize yet.
//
// Spec: 2025-11-25 basic/lifecycle#initialization
func (s *Server) initialized(session *exchange.Session) {
	if session == nil {
		return
	}
	if agreed := session.Agreed(); agreed != nil {
		s.hub.SubscribeBus()
		s.hub.AddSession(session, agreed)
	}
}

// discover handles server/discover: it returns the revisions and capabilities of the server
// without starting a session.
//
// Spec: 2026-07-28 server/discover
func (s *Server) discover(_ context.Context, r *Request) (any, error) {
	return &mcp.DiscoverResult{
		Caching:           s.options.cacheFor(r.method).hints(len(s.middleware.scopes(r.method)) > 0),
		SupportedVersions: s.dialect.Versions(),
		Capabilities:      s.capabilities(r.call.Facts),
		Instructions:      s.options.instructions(),
	}, nil
}

// capabilities returns the capabilities of all kinds of features that were registered at
// some time, also if they are removed now.
func (s *Server) capabilities(f *dialect.Facts) mcp.ServerCapabilities {
	snap := s.features.Snapshot()
	o := s.options.orZero()
	c := mcp.ServerCapabilities{Logging: new(mcp.Capability), Experimental: o.Experimental}
	if snap.Offers(registry.Tools) {
		c.Tools = &mcp.ListCapability{ListChanged: true}
	}
	if snap.Offers(registry.Prompts) {
		c.Prompts = &mcp.ListCapability{ListChanged: true}
	}
	if snap.Offers(registry.Resources) {
		c.Resources = &mcp.ResourcesCapability{ListChanged: true, Subscribe: true}
	}
	if snap.Completes() {
		c.Completions = new(mcp.Capability)
	}
	s.extensions.declare(&c, f)
	return c
}

func (s *Server) ping(context.Context, *Request) (any, error) { return nil, nil }
