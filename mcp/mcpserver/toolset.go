package mcpserver

import (
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/registry"
)

// ToolSet is a set of tools that only some requests see, see [Options.RequestTools]. Make one
// with [Server.NewToolSet]. A nil ToolSet is empty.
type ToolSet struct {
	server *Server
	byName map[string]*tool
}

// NewToolSet returns an empty set of tools of the server.
func (s *Server) NewToolSet() *ToolSet {
	return &ToolSet{server: s, byName: make(map[string]*tool)}
}

// Add adds a tool, as [Server.AddTool] does. It returns an error where AddTool panics, and
// changes nothing then. Calls of the tool count to the limits of the server like all others.
// Add must not be called once RequestTools has returned the set.
func (ts *ToolSet) Add(def mcp.Tool, h ToolHandler, opts ...ToolOption) error {
	t := &tool{def: def, call: h}
	if err := ts.server.prepareTool(t, opts); err != nil {
		return fmt.Errorf("tool %q: %w", def.Name, err)
	}
	if ts.byName[t.def.Name] != nil {
		return fmt.Errorf("tool %q: in the set already; want another name", def.Name)
	}
	ts.byName[t.def.Name] = t
	return nil
}

// Len returns the number of tools in the set.
func (ts *ToolSet) Len() int {
	if ts == nil {
		return 0
	}
	return len(ts.byName)
}

// listedTools returns the tools that only some requests see and that belong into the list
// of this one.
func (s *Server) listedTools(r *Request) []registry.Feature {
	if s.options.orZero().RequestTools == nil {
		return nil
	}
	listed, _ := s.options.RequestTools(r)
	var all []registry.Feature
	names := make(map[string]bool)
	for _, set := range listed {
		if set == nil {
			continue
		}
		for name, t := range set.byName {
			if !names[name] && t.VisibleTo(r.Identity()) {
				names[name] = true
				all = append(all, t)
			}
		}
	}
	return all
}

// toolOf returns the tool of a name that only some requests can call, if this one can, or
// nil.
func (s *Server) toolOf(r *Request, name string) *tool {
	if s.options.orZero().RequestTools == nil {
		return nil
	}
	listed, unlisted := s.options.RequestTools(r)
	for _, sets := range [][]*ToolSet{listed, unlisted} {
		for _, set := range sets {
			if set == nil {
				continue
			}
			if t := set.byName[name]; t != nil && t.VisibleTo(r.Identity()) {
				return t
			}
		}
	}
	return nil
}

// ToolsChangedFor sends notifications/tools/list_changed to the clients of this process that
// match, in both eras, if they have subscribed to it. match is called once for each session
// and each subscriptions/listen request, with its revision and the capabilities that its
// client has declared, which must not be modified. Of several changes within 50 ms a client
// is sent the first and the last. ToolsChangedFor does not wait for the clients.
func (s *Server) ToolsChangedFor(match func(mcp.Revision, mcp.ClientCapabilities) bool) {
	s.hub.ToolsChangedFor(func(l changes.Listener) bool {
		revision, capabilities := l.Client()
		return capabilities != nil && match(revision, *capabilities)
	})
}

// ToolsChanged sends notifications/tools/list_changed to the client of the session only. Of
// several changes within 50 ms it is sent the first and the last. ToolsChanged does not wait
// for the client. It does nothing when the session has ended or is nil.
func (s *Session) ToolsChanged() {
	if s != nil {
		s.server.hub.ToolsChangedIn(s.of)
	}
}
