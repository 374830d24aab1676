package mcpserver

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/registry"
)

// FeatureSet is a set of tools, resources, resource templates and prompts that only some
// requests see, see [Options.RequestFeatures]. Make one with [Server.NewFeatureSet]. A nil
// FeatureSet is empty.
//
// The methods that add to a set return an error where the method of [Server] of the same name
// panics, and change nothing then. They must not be called once RequestFeatures has returned the
// set. Calls of the features count to the limits of the server like all others.
type FeatureSet struct {
	server *Server
	byKey  [registry.Kinds]map[string]registry.Feature
}

// NewFeatureSet returns an empty set of features of the server.
func (s *Server) NewFeatureSet() *FeatureSet { return &FeatureSet{server: s} }

// AddTool adds a tool, as [Server.AddTool] does. The option [Durable] is an error.
func (fs *FeatureSet) AddTool(def mcp.Tool, h ToolHandler, opts ...ToolOption) error {
	t := &tool{def: def, call: h}
	err := fs.server.prepareTool(t, opts)
	if err == nil && t.durable {
		err = errors.New("option Durable: calls of the tool cannot be replayed, since other requests see other sets; want Server.AddTool")
	}
	if err == nil {
		err = fs.add(registry.Tools, t)
	}
	if err != nil {
		return fmt.Errorf("tool %q: %w", def.Name, err)
	}
	return nil
}

// AddPrompt adds a prompt, as [Server.AddPrompt] does.
func (fs *FeatureSet) AddPrompt(def mcp.Prompt, h PromptHandler, opts ...PromptOption) error {
	p := &prompt{def: def, make: h}
	err := p.apply(opts)
	if err == nil {
		err = fs.add(registry.Prompts, p)
	}
	if err != nil {
		return fmt.Errorf("prompt %q: %w", def.Name, err)
	}
	return nil
}

// AddResource adds a resource, as [Server.AddResource] does. The option [WhileSubscribed] is an
// error: subscribers of the resource see different sets.
func (fs *FeatureSet) AddResource(def mcp.Resource, h ResourceHandler, opts ...ResourceOption) error {
	r := &resource{def: def, read: h}
	err := r.applyToURI(opts)
	if err == nil {
		err = fs.addResource(registry.Resources, r)
	}
	if err != nil {
		return fmt.Errorf("resource %q: %w", def.URI, err)
	}
	return nil
}

// AddTemplate adds a resource template, as [Server.AddTemplate] does. The options
// [ListResources] and [WhileSubscribed] are errors.
func (fs *FeatureSet) AddTemplate(def mcp.ResourceTemplate, h ResourceHandler, opts ...ResourceOption) error {
	r := templateOf(def, h)
	err := r.applyToTemplate(opts)
	if err == nil {
		err = fs.addResource(registry.Templates, r)
	}
	if err != nil {
		return fmt.Errorf("template %q: %w", def.URITemplate, err)
	}
	return nil
}

func (fs *FeatureSet) addResource(k registry.Kind, r *resource) error {
	switch {
	case r.whileWatched != nil:
		return errors.New("option WhileSubscribed: it is for registered resources")
	case r.lister != nil:
		return errors.New("option ListResources: it is for registered templates")
	}
	return fs.add(k, r)
}

func (fs *FeatureSet) add(k registry.Kind, f registry.Feature) error {
	if fs.byKey[k][f.Key()] != nil {
		return errors.New("in the set already; want another one")
	}
	if fs.byKey[k] == nil {
		fs.byKey[k] = make(map[string]registry.Feature)
	}
	fs.server.features.Prepare(f)
	fs.byKey[k][f.Key()] = f
	return nil
}

// Len returns the number of features in the set.
func (fs *FeatureSet) Len() (n int) {
	if fs != nil {
		for _, features := range fs.byKey {
			n += len(features)
		}
	}
	return n
}

// requestSets returns the sets of features that only some requests see: those in the lists of
// this one, and those that it can only use. None of them is nil.
func (s *Server) requestSets(r *Request) (listed, unlisted []*FeatureSet) {
	if s.options.orZero().RequestFeatures == nil {
		return nil, nil
	}
	listed, unlisted = s.options.RequestFeatures(r)
	isNil := func(set *FeatureSet) bool { return set == nil }
	return slices.DeleteFunc(slices.Clone(listed), isNil), slices.DeleteFunc(slices.Clone(unlisted), isNil)
}

// listedFeatures returns the features of a kind that only some requests see and that belong into
// the list of this one.
func (s *Server) listedFeatures(r *Request, k registry.Kind) (all []registry.Feature) {
	listed, _ := s.requestSets(r)
	names := make(map[string]bool)
	for _, set := range listed {
		for name, f := range set.byKey[k] {
			if !names[name] && f.VisibleTo(r.Identity()) {
				names[name] = true
				all = append(all, f)
			}
		}
	}
	return all
}

// lookup returns the feature with the key that the sender of a request can use: a registered
// one, or else one that only some requests see.
func lookup[T registry.Feature](s *registry.Snapshot, r *Request, k registry.Kind, key string) (f T, ok bool) {
	if f, ok = registry.Lookup[T](s, k, key, r.Identity()); ok {
		return f, true
	}
	listed, unlisted := r.server.requestSets(r)
	for _, set := range slices.Concat(listed, unlisted) {
		if f, ok := set.byKey[k][key].(T); ok && f.VisibleTo(r.Identity()) {
			return f, true
		}
	}
	return f, false
}

// resourceFor returns the resource or template that serves a URI for a request, or nil: the
// resource with that URI or an equal one, or else the first matching template. Registered ones take precedence.
//
// Spec: RFC 3986 6.2.2.1 and 6.2.2.2
func resourceFor(s *registry.Snapshot, r *Request, uri string) *resource {
	if f, ok := lookup[*resource](s, r, registry.Resources, uri); ok {
		return f
	}
	if f := equalResource(s, uri); f != nil && f.VisibleTo(r.Identity()) {
		return f
	}
	for t := range templatesFor(s, r) {
		if ok, err := t.serves(uri); ok && err == nil {
			return t
		}
	}
	return nil
}

// templatesFor yields the templates that the sender of a request can use, registered ones first.
func templatesFor(s *registry.Snapshot, r *Request) iter.Seq[*resource] {
	return func(yield func(*resource) bool) {
		for _, f := range s.All(registry.Templates) {
			if f.VisibleTo(r.Identity()) && !yield(f.(*resource)) {
				return
			}
		}
		listed, unlisted := r.server.requestSets(r)
		for _, set := range slices.Concat(listed, unlisted) {
			templates := set.byKey[registry.Templates]
			for _, key := range slices.Sorted(maps.Keys(templates)) {
				if f := templates[key]; f.VisibleTo(r.Identity()) && !yield(f.(*resource)) {
					return
				}
			}
		}
	}
}

// ToolsChangedFor sends notifications/tools/list_changed to the clients of this process that
// match, in both eras, if they have subscribed to it. match is called once for each session
// and each subscriptions/listen request, with its revision and the capabilities that its
// client has declared, which must not be modified. Of several changes within 50 ms a client
// is sent the first and the last. ToolsChangedFor does not wait for the clients.
func (s *Server) ToolsChangedFor(match func(mcp.Revision, mcp.ClientCapabilities) bool) {
	s.listChangedFor(mcp.NotificationToolsListChanged, match)
}

// PromptsChangedFor sends notifications/prompts/list_changed, as [Server.ToolsChangedFor] does
// for tools.
func (s *Server) PromptsChangedFor(match func(mcp.Revision, mcp.ClientCapabilities) bool) {
	s.listChangedFor(mcp.NotificationPromptsListChanged, match)
}

// ResourcesChangedFor sends notifications/resources/list_changed, which is for resources and
// resource templates, as [Server.ToolsChangedFor] does for tools.
func (s *Server) ResourcesChangedFor(match func(mcp.Revision, mcp.ClientCapabilities) bool) {
	s.listChangedFor(mcp.NotificationResourcesListChanged, match)
}

func (s *Server) listChangedFor(method string, match func(mcp.Revision, mcp.ClientCapabilities) bool) {
	s.hub.ListChangedFor(method, func(l changes.Listener) bool {
		revision, capabilities := l.Client()
		return capabilities != nil && match(revision, *capabilities)
	})
}

// ToolsChanged sends notifications/tools/list_changed to the client of the session only. Of
// several changes within 50 ms it is sent the first and the last. ToolsChanged does not wait
// for the client. It does nothing when the session has ended or is nil.
func (s *Session) ToolsChanged() { s.listChanged(mcp.NotificationToolsListChanged) }

// PromptsChanged sends notifications/prompts/list_changed, as ToolsChanged does for tools.
func (s *Session) PromptsChanged() { s.listChanged(mcp.NotificationPromptsListChanged) }

// ResourcesChanged sends notifications/resources/list_changed, which is for resources and
// resource templates, as ToolsChanged does for tools.
func (s *Session) ResourcesChanged() { s.listChanged(mcp.NotificationResourcesListChanged) }

func (s *Session) listChanged(method string) {
	if s != nil {
		s.server.hub.ListChangedIn(method, s.of)
	}
}
