package mcpserver

import (
	"context"
	"log/slog"

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
	if err := s.keepClient(r, agreed); err != nil {
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
// the client may not have read the response to initialize yet. One of the processes that serve
// a session notifies its client, so others do not. A session that was opened from its id may
// have missed changes before.
//
// Spec: 2025-11-25 basic/lifecycle#initialization
func (s *Server) initialized(session *exchange.Session) {
	if session == nil || session.Agreed() == nil || !session.Notifies() {
		return
	}
	s.hub.SubscribeBus()
	if agreed := session.Agreed(); s.hub.AddSession(session, agreed) && session.Reopened {
		s.announceLists(session, agreed)
	}
}

// Notify implements exchange.Core.
func (c core) Notify(ctx context.Context, session *exchange.Session, uris []string, missed bool) {
	agreed := session.Agreed()
	c.hub.AwaitBus(ctx)
	c.hub.AddSession(session, agreed)
	sub := c.hub.Session(session, agreed)
	if sub == nil {
		return // it has ended
	}
	if err := c.hub.SetResources(sub, uris); err != nil {
		c.options.logger().LogAttrs(ctx, slog.LevelWarn, "the client of a session is not notified of all resources that it has subscribed to", slog.Any("error", err))
	}
	if !missed {
		return
	}
	c.announceLists(session, agreed)
	for _, uri := range uris {
		c.hub.UpdatedFor(sub, uri)
	}
}

// StopNotifying implements exchange.Core.
func (c core) StopNotifying(session *exchange.Session) { c.hub.RemoveSession(session) }

// announceLists announces a change of each list that the server offers to one session.
func (s *Server) announceLists(session *exchange.Session, agreed *dialect.Session) {
	c := s.capabilities(agreed.Facts)
	for method, offered := range map[string]bool{
		mcp.NotificationToolsListChanged:     c.Tools != nil,
		mcp.NotificationPromptsListChanged:   c.Prompts != nil,
		mcp.NotificationResourcesListChanged: c.Resources != nil,
	} {
		if offered {
			s.hub.ListChangedIn(method, session)
		}
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
