package mcpserver

import (
	"log/slog"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/registry"
)

// changeSource implements the interface by which the hub of changes uses the server.
type changeSource struct{ *Server }

var _ changes.Server = changeSource{}

// Resource implements changes.Server.
func (c changeSource) Resource(uri string) (exists bool, reads func(*mcp.Identity) bool) {
	snap := c.features.Snapshot()
	return isServed(snap, uri), func(who *mcp.Identity) bool { return mayRead(snap, uri, who) }
}

// WatchFunc implements changes.Server.
func (c changeSource) WatchFunc(uri string, who *mcp.Identity) changes.WatchFunc {
	if f := resourceAt(c.features.Snapshot(), uri, who); f != nil {
		return f.whileWatched
	}
	return nil
}

// Features implements changes.Server. Without a key it returns a feature that is visible to
// all callers.
func (c changeSource) Features(method, key string) (found []changes.Feature) {
	for k := range registry.Kinds {
		if listNotification[k] != method {
			continue
		}
		if key == "" {
			found = append(found, changes.Feature{Method: method, VisibleTo: func(*mcp.Identity) bool { return true }})
		} else if f := c.features.Registered(k, key); f != nil {
			found = append(found, changed(registry.Change{Kind: k, Feature: f}))
		}
	}
	return found
}

// IsOpen implements changes.Server.
func (c changeSource) IsOpen(session *exchange.Session) bool { return c.sessions.isOpen(session) }

// Go implements changes.Server.
func (c changeSource) Go(f func()) { c.requests.Go(f) }

// Evicted implements changes.Server.
func (c changeSource) Evicted(p mcp.Principal) {
	c.limits.Reached(mcp.LimitReached{Limit: mcp.LimitWatched, Principal: p})
}

// Logger implements changes.Server.
func (c changeSource) Logger() *slog.Logger { return c.options.logger() }

// listNotification is the notification that announces a change of a kind's list.
var listNotification = [registry.Kinds]string{
	registry.Tools:     mcp.NotificationToolsListChanged,
	registry.Resources: mcp.NotificationResourcesListChanged,
	registry.Templates: mcp.NotificationResourcesListChanged,
	registry.Prompts:   mcp.NotificationPromptsListChanged,
}

// changed describes a change of the registry. The key of a feature that is visible to all
// callers is omitted: other replicas then treat the whole list as changed.
func changed(c registry.Change) changes.Feature {
	f := changes.Feature{Method: listNotification[c.Kind], VisibleTo: c.Feature.VisibleTo}
	if c.Feature.Restricted() {
		f.Key = c.Feature.Key()
	}
	return f
}

// listChanged announces changes of the registry.
func (s *Server) listChanged(all []registry.Change) {
	features := make([]changes.Feature, len(all))
	for i, c := range all {
		features[i] = changed(c)
	}
	s.hub.ListChanged(features)
}
