package mcpserver

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/registry"
	"github.com/fondaco/fondaco/mcp/internal/uritemplate"
)

// ResourceHandler reads one resource. The result is an *mcp.ReadResourceResult, or another
// result type that resources/read may have. For a resource that does not exist it returns
// an error that wraps [ErrNotFound]. The rules of
// [ToolHandler] apply to the answers in p.InputResponses.
type ResourceHandler func(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error)

// ResourceOption is an option of a resource or a template.
type ResourceOption interface{ resource(r *resource) }

// resource is a registered resource, or a template of resources.
type resource struct {
	common
	def      mcp.Resource
	template *uritemplate.Template // nil for a resource with one URI
	read     ResourceHandler
	cache    *Cache // nil: that of Options

	unchecked *uncheckedVariables // nil: all values are checked
	lister    *resourceLister     // nil: the resources of the template are not listed

	whileWatched changes.WatchFunc
}

// Key is the URI, or the text of the template.
func (r *resource) Key() string { return r.def.URI }

// NormalKey implements registry.Normalized. Templates are matched with equal URIs by themselves.
func (r *resource) NormalKey() string {
	if r.template != nil {
		return r.def.URI
	}
	return uritemplate.Normalize(r.def.URI)
}

func (r *resource) Definition() any { return &r.def }

// Resource registers a resource at a fixed URI. The bytes that read returns are text
// contents when they are valid UTF-8 and mimeType is empty or a textual type, and otherwise
// binary contents. The option [Describe] sets a description. read runs on several
// goroutines at once.
//
// Resource panics when the URI has no scheme or is registered already, when the name is
// empty, when read is nil, and when mimeType is neither empty nor a MIME type such as
// text/plain.
func (s *Server) Resource(uri, name, mimeType string, read func(context.Context) ([]byte, error), opts ...ResourceOption) {
	s.AddResource(mcp.Resource{URI: uri, Name: name, MIMEType: mimeType}, bytesHandler(mimeType, read), opts...)
}

// ReplaceResource registers a resource as Resource does, in place of the resource at that
// URI, if there is one. The rules of ReplaceTool apply.
func (s *Server) ReplaceResource(uri, name, mimeType string, read func(context.Context) ([]byte, error), opts ...ResourceOption) error {
	return s.SetResource(mcp.Resource{URI: uri, Name: name, MIMEType: mimeType}, bytesHandler(mimeType, read), opts...)
}

// bytesHandler returns a handler that calls read. It is nil when read is.
func bytesHandler(mimeType string, read func(context.Context) ([]byte, error)) ResourceHandler {
	if read == nil {
		return nil
	}
	return func(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
		data, err := read(ctx)
		return contentsOf(p.URI, mimeType, data), err
	}
}

// AddResource registers a resource with its definition and a handler. The definition is
// copied. It panics as Resource does.
func (s *Server) AddResource(def mcp.Resource, h ResourceHandler, opts ...ResourceOption) {
	if err := s.addResource(&resource{def: def, read: h}, opts, false); err != nil {
		panic(fmt.Sprintf("resource %q: %v", def.URI, err))
	}
}

// SetResource registers a resource as AddResource does, in place of the resource at that
// URI, if there is one. It returns the error that AddResource would panic with.
func (s *Server) SetResource(def mcp.Resource, h ResourceHandler, opts ...ResourceOption) error {
	if err := s.addResource(&resource{def: def, read: h}, opts, true); err != nil {
		return fmt.Errorf("resource %q: %w", def.URI, err)
	}
	return nil
}

// RemoveResource removes the resource at a URI and reports whether it was registered.
func (s *Server) RemoveResource(uri string) bool { return s.features.Remove(registry.Resources, uri) }

// EnableResource enables or disables the resource at a URI and reports whether that was a
// change. A disabled resource is unknown to clients.
func (s *Server) EnableResource(uri string, on bool) bool {
	return s.features.Enable(registry.Resources, uri, on)
}

func (s *Server) addResource(r *resource, opts []ResourceOption, replace bool) error {
	if err := r.applyToURI(opts); err != nil {
		return err
	}
	return s.putResource(registry.Resources, r, replace)
}

// applyToURI applies the options to a resource with a fixed URI, or returns what is wrong
// with it.
func (r *resource) applyToURI(opts []ResourceOption) error {
	if err := r.apply(opts); err != nil {
		return err
	}
	if u, err := url.Parse(r.def.URI); (err != nil || u.Scheme == "") && !r.proxied {
		return errors.New("URI: want one with a scheme, such as notes://today")
	}
	return nil
}

func (s *Server) putResource(k registry.Kind, r *resource, replace bool) error {
	if !s.features.Put(k, r, replace) {
		return errors.New("registered already; want another one, or to replace it by a method that begins with Replace or Set")
	}
	return nil
}

// apply applies the options to a resource or template, or returns what is wrong with it.
func (r *resource) apply(opts []ResourceOption) error {
	r.def = copyResource(r.def)
	if err := applyOptions(opts, func(o ResourceOption) { o.resource(r) }); err != nil {
		return err
	}
	r.def = copyResource(r.def)
	if err := r.checkIcons(&r.def.Icons); err != nil {
		return err
	}
	switch {
	case r.read == nil:
		return errors.New("the handler is nil")
	case r.template == nil && r.lister != nil:
		return errors.New("option ListResources: it is for templates")
	case r.proxied:
		return nil
	case r.def.Name == "":
		return errors.New("name: want one to show")
	case r.def.MIMEType != "" && !validMIME(r.def.MIMEType):
		return fmt.Errorf("MIME type %q: want one such as text/plain, or none; the order is URI, name, MIME type, and Describe sets a description", r.def.MIMEType)
	case r.template == nil && r.unchecked != nil:
		return errors.New("option UncheckedVariables: it is for templates")
	case r.template != nil && !r.unchecked.of(r.template.Vars()):
		return fmt.Errorf("option UncheckedVariables: want variables of the template: %v", r.template.Vars())
	case r.template != nil && !coversAll(r.template.Vars(), r.completers):
		return fmt.Errorf("completion of %v: want variables of the template: %v", slices.Sorted(maps.Keys(r.completers)), r.template.Vars())
	}
	return nil
}

// coversAll reports whether every completed argument is among the names.
func coversAll(names []string, completers map[string]Completer) bool {
	for arg := range completers {
		if !slices.Contains(names, arg) {
			return false
		}
	}
	return true
}

// contentsOf returns the result of reading one resource.
func contentsOf(uri, mimeType string, data []byte) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.NewResourceContents(uri, mimeType, data)}}
}

var resourceListing = listing{registry.Resources, func(page []registry.Feature, next *string, hints mcp.Caching) any {
	r := &mcp.ListResourcesResult{NextCursor: next, Caching: hints, Resources: make([]mcp.Resource, len(page))}
	for i, f := range page {
		r.Resources[i] = f.(*resource).def
	}
	return r
}}

// readResource handles resources/read. It looks for a resource with the URI, then for the
// first matching template in the order of their keys.
//
// Spec: 2026-07-28 server/resources#reading-resources
func (s *Server) readResource(ctx context.Context, r *Request) (any, error) {
	snap := s.features.Snapshot()
	if !snap.Offers(registry.Resources) {
		return nil, undeclared(r.method)
	}
	var p mcp.ReadResourceParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	f := resourceFor(snap, r, p.URI)
	if f == nil {
		return nil, noResourceAt(snap, r, p.URI)
	}
	if err := r.RequireScopes(f.Scopes...); err != nil {
		return nil, err
	}
	result, err := r.runHandler(ctx, &p.InputResponseParams, func(ctx context.Context) (mcp.Result, error) {
		if err := r.resume(); err != nil {
			return nil, err
		}
		return f.read(ctx, &p)
	})
	if errors.Is(err, ErrNotFound) {
		return nil, notFound(p.URI)
	}
	if err != nil {
		return nil, err
	}
	return s.finishRead(f, result)
}

// resourceAt returns the registered resource or template that serves a URI and is visible to a
// caller, or nil.
func resourceAt(s *registry.Snapshot, uri string, who *mcp.Identity) *resource {
	for r := range resourcesAt(s, uri) {
		if r.VisibleTo(who) {
			return r
		}
	}
	return nil
}

// mayRead reports whether a caller may read what is at a URI.
func mayRead(s *registry.Snapshot, uri string, who *mcp.Identity) bool {
	r := resourceAt(s, uri, who)
	return r != nil && registry.Granted(who, r.Scopes)
}

// isServed reports whether there is a resource at a URI, visible or not.
func isServed(s *registry.Snapshot, uri string) bool {
	for range resourcesAt(s, uri) {
		return true
	}
	return false
}

// resourcesAt yields the resource at a URI, then the matching templates in order.
func resourcesAt(s *registry.Snapshot, uri string) func(yield func(*resource) bool) {
	return func(yield func(*resource) bool) {
		if r := equalResource(s, uri); r != nil && !yield(r) {
			return
		}
		for _, f := range s.All(registry.Templates) {
			t := f.(*resource)
			if ok, err := t.serves(uri); ok && err == nil && !yield(t) {
				return
			}
		}
	}
}

// equalResource returns the registered resource at a URI, or else at one that is equal to it, or nil.
func equalResource(s *registry.Snapshot, uri string) *resource {
	if r, ok := s.Get(registry.Resources, uri).(*resource); ok {
		return r
	}
	r, _ := s.GetNormal(registry.Resources, uritemplate.Normalize(uri)).(*resource)
	return r
}

// noResourceAt returns the error of reading a URI that no resource serves. It gives the
// reason if a template that the caller may see refuses a value in the URI.
func noResourceAt(s *registry.Snapshot, r *Request, uri string) error {
	for t := range templatesFor(s, r) {
		if ok, err := t.serves(uri); ok && err != nil {
			return mcp.Errorf(mcp.CodeInvalidParams, "resource %q: %v", cleanText(uri, 128), err)
		}
	}
	return notFound(uri)
}

// finishRead checks the result of a handler and adds the caching hints.
func (s *Server) finishRead(r *resource, result mcp.Result) (any, error) {
	if err := checkNotNil(result); err != nil {
		return nil, err
	}
	read, ok := result.(*mcp.ReadResourceResult)
	if !ok {
		return result, nil
	}
	if err := r.checkContents(read); err != nil {
		return nil, err
	}
	return s.withCacheHints(r, read), nil
}

// checkContents returns an error for contents that clients cannot use, unless they are proxied.
func (r *resource) checkContents(read *mcp.ReadResourceResult) error {
	if r.proxied {
		return nil
	}
	if len(read.Contents) == 0 {
		return errors.New("the handler returned no contents; want some, or ErrNotFound")
	}
	if err := checkMeta(read.Meta); err != nil {
		return err
	}
	for _, c := range read.Contents {
		if err := checkContents(c); err != nil {
			return err
		}
	}
	return nil
}

func notFound(uri string) error {
	err := mcp.Errorf(mcp.CodeResourceNotFound, "resource %q: not found", cleanText(uri, 128))
	err.Data, _ = json.Marshal(map[string]string{"uri": cleanText(uri, 256)})
	return err
}

// withCacheHints returns the result of a read with the caching hints of the handler, else
// of the resource, else of the options.
func (s *Server) withCacheHints(r *resource, read *mcp.ReadResourceResult) *mcp.ReadResourceResult {
	hints, private := read.Caching, r.Private() || len(s.middleware.scopes(mcp.MethodResourcesRead)) > 0
	switch {
	case hints.TTLMs == nil && r.cache != nil:
		hints = r.cache.hints(private)
	case hints.TTLMs == nil:
		hints = s.options.orZero().MethodCache[mcp.MethodResourcesRead].hints(private)
	case private:
		hints.CacheScope = mcp.CachePrivate
	}
	out := *read
	out.Caching = hints
	return &out
}
