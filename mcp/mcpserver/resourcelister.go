package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
	"github.com/fondaco/fondaco/mcp/internal/registry"
	"github.com/fondaco/fondaco/mcp/internal/uritemplate"
	"github.com/fondaco/fondaco/mcp/schema"
)

// ListedResource is one resource that the function of [ListResources] returns.
type ListedResource[Vars any] struct {
	// Vars are the values of the variables of the template, which give the URI.
	Vars Vars
	// Name is shown to users. Empty means the name of the template.
	Name        string
	Title       string
	Description string
	// MIMEType is the type of the contents. Empty means that of the template.
	MIMEType string
	// Size is the size of the contents in bytes, or nil if it is unknown.
	Size        *int64
	Annotations *mcp.Annotations
}

// ListResources is the option of a resource template that lists the resources of the template in
// resources/list, page by page, for resources that are in a database. The template reads them.
// Vars is a struct with a field for each variable of the template, as that of [Server.Template].
//
// list returns at most limit resources (Options.PageSize) from the place that a cursor stands for,
// and the cursor of the next page, or "" if this is the last one. The first page has the cursor "".
// Cursors are the author's, of at most 1024 bytes, and best made of the key of the last resource,
// so that changes between two pages neither lose nor repeat others. They are not secret and not
// protected: a client can send any text as a cursor, and list must check it, and return
// [ErrInvalidCursor] for one that it cannot have made.
//
// Registered resources are listed first, then those of each template with the option, in the order
// of the templates. Callers to which the template is not visible, or who lack its scopes, do not
// get its resources. list runs for every request and is not cached; its result must depend only on
// the caller's identity (see [From]) and the data. Resources that are registered, too, are left
// out. After a change of the data call [Server.ResourcesChanged]; for changed contents call
// [Server.Updated].
//
// A URI that the template would not read with the same values, and a page with too many resources
// or with the cursor it was asked for, are internal errors. Registration fails if the feature is
// not a template or has a variable without a field. ListResources panics if list is nil.
//
// Spec: 2026-07-28 server/utilities/pagination
func ListResources[Vars any](list func(ctx context.Context, cursor string, limit int) (page []ListedResource[Vars], next string, err error)) ResourceOption {
	if list == nil {
		panic("mcpserver.ListResources: the function is nil; leave the option out")
	}
	return &resourceLister{
		vars: reflect.TypeFor[Vars](),
		list: func(ctx context.Context, cursor string, limit int) ([]listedResource, string, error) {
			page, next, err := list(ctx, cursor, limit)
			if err != nil {
				return nil, "", err
			}
			listed := make([]listedResource, len(page))
			for i := range page {
				p := &page[i]
				listed[i] = listedResource{&p.Vars, mcp.Resource{
					Name: p.Name, Title: p.Title, Description: p.Description, MIMEType: p.MIMEType, Size: p.Size, Annotations: p.Annotations,
				}}
			}
			return listed, next, nil
		},
	}
}

// ErrInvalidCursor is the error that the function of [ListResources] returns, or wraps, for a
// cursor that it cannot have made. The client gets an error of mcp.CodeInvalidParams.
var ErrInvalidCursor = errors.New("invalid cursor")

// ResourcesChanged notifies clients that the resources have changed that a template with the option
// [ListResources] lists (notifications/resources/list_changed), those on other replicas, too. It
// reports false, and notifies nobody, if there is no such template.
func (s *Server) ResourcesChanged(uriTemplate string) bool {
	t, ok := s.features.Registered(registry.Templates, uriTemplate).(*resource)
	if !ok || t.lister == nil {
		return false
	}
	s.hub.ListChanged([]changes.Feature{changed(registry.Change{Kind: registry.Templates, Feature: t})})
	return true
}

// resourceLister lists the resources of a template.
type resourceLister struct {
	vars reflect.Type
	list func(ctx context.Context, cursor string, limit int) (page []listedResource, next string, err error)
}

// listedResource is a ListedResource without its type parameter. def has no URI.
type listedResource struct {
	vars any
	def  mcp.Resource
}

func (l *resourceLister) resource(r *resource) { r.lister = l }

// check returns an error if the template has a variable without a field.
func (l *resourceLister) check(t *uritemplate.Template, opts []schema.Option) error {
	if l == nil {
		return nil
	}
	b, err := newBinder(l.vars, opts)
	if err == nil {
		err = b.covers(t.Vars())
	}
	if err != nil {
		return fmt.Errorf("option ListResources: %w", err)
	}
	return nil
}

// maxListerCursor is the size of a cursor of an author's function, in bytes.
const maxListerCursor = 1024

// listerCursor is the place in the resources of a template's lister.
type listerCursor struct{ template, cursor string }

// listerMark is the first byte of cursors of listers; those of the registry have another one.
const listerMark = 'L'

func (c listerCursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(string(listerMark) + c.template + "\x00" + c.cursor))
}

// parseListerCursor reads a cursor of a client. It returns false for one that is not of a lister.
func parseListerCursor(cursor *string) (c listerCursor, ok bool) {
	if cursor == nil {
		return c, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(*cursor)
	if err != nil || len(raw) == 0 || raw[0] != listerMark {
		return c, false
	}
	c.template, c.cursor, ok = strings.Cut(string(raw[1:]), "\x00")
	return c, ok && len(c.cursor) <= maxListerCursor
}

// listers returns the templates whose resources are listed for a caller, in order. some says
// that there are templates with listers for some callers.
func listers(s *registry.Snapshot, who *mcp.Identity) (found []*resource, some bool) {
	for _, f := range s.All(registry.Templates) {
		t := f.(*resource)
		if t.lister == nil {
			continue
		}
		some = true
		if t.VisibleTo(who) && registry.Granted(who, t.Scopes) {
			found = append(found, t)
		}
	}
	return found, some
}

// listResources handles resources/list: the registered resources, then those of the listers.
func (s *Server) listResources(ctx context.Context, r *Request) (any, error) {
	params, err := listParams(r)
	if err != nil {
		return nil, err
	}
	snap := s.features.Snapshot()
	if !snap.Offers(registry.Resources) {
		return nil, undeclared(r.method)
	}
	more, some := listers(snap, r.Identity())
	if at, ok := parseListerCursor(params.Cursor); ok {
		return s.listFrom(ctx, r, snap, more, at)
	}
	page := registry.PageParams{Cursor: params.Cursor, More: s.listedFeatures(r, registry.Resources)}
	if len(more) > 0 {
		first := listerCursor{template: more[0].Key()}
		if params.Cursor == nil && len(page.More) == 0 && !snap.AnyVisible(registry.Resources, r.Identity()) {
			return s.listFrom(ctx, r, snap, more, first)
		}
		page.After = first.String()
	}
	return s.listPage(r, snap, resourceListing, page, some)
}

// listFrom returns the page of a lister at a cursor.
func (s *Server) listFrom(ctx context.Context, r *Request, snap *registry.Snapshot, all []*resource, at listerCursor) (any, error) {
	for i, t := range all {
		if t.Key() != at.template {
			continue
		}
		page, next, err := s.listOne(ctx, r, snap, t, at.cursor)
		if err != nil {
			return nil, err
		}
		result := &mcp.ListResourcesResult{Resources: page, Caching: s.options.cacheFor(r.method).hints(true)}
		switch {
		case next != "":
			result.NextCursor = new(listerCursor{at.template, next}.String())
		case i+1 < len(all):
			result.NextCursor = new(listerCursor{template: all[i+1].Key()}.String())
		}
		return result, nil
	}
	return nil, invalidCursor()
}

func invalidCursor() error {
	return mcp.Errorf(mcp.CodeInvalidParams, "cursor: not a cursor of this list; want the nextCursor of the previous page, or none")
}

// listOne calls the author's function for one page.
func (s *Server) listOne(ctx context.Context, r *Request, snap *registry.Snapshot, t *resource, cursor string) (page []mcp.Resource, next string, err error) {
	limit := s.options.pageSize()
	listed, next, err := t.lister.list(ctx, cursor, limit)
	switch {
	case errors.Is(err, ErrInvalidCursor):
		return nil, "", invalidCursor()
	case err != nil:
		return nil, "", fmt.Errorf("template %q: list resources: %w", t.Key(), err)
	case len(listed) > limit:
		return nil, "", fmt.Errorf("template %q: list resources: got %d, want at most %d", t.Key(), len(listed), limit)
	case len(next) > maxListerCursor:
		return nil, "", fmt.Errorf("template %q: list resources: got a next cursor of %d bytes, want at most %d", t.Key(), len(next), maxListerCursor)
	case next != "" && next == cursor:
		return nil, "", fmt.Errorf("template %q: list resources: the next cursor is the one of this page; want another, or none at the end", t.Key())
	}
	page = make([]mcp.Resource, 0, len(listed))
	for i := range listed {
		def, err := t.definitionOf(&listed[i])
		if err != nil {
			return nil, "", fmt.Errorf("template %q: list resources: resource %d: %w", t.Key(), i, err)
		}
		if _, registered := registry.Lookup[*resource](snap, registry.Resources, def.URI, r.Identity()); !registered {
			page = append(page, def)
		}
	}
	return page, next, nil
}

// definitionOf returns the definition of a listed resource, with a URI that the template reads
// with the same values.
func (r *resource) definitionOf(l *listedResource) (def mcp.Resource, err error) {
	want, err := stringsOf(l.vars)
	if err != nil {
		return def, err
	}
	values := make(uritemplate.Values, len(want))
	for name, value := range want {
		if values[name] = uritemplate.String(value); r.template.Explodes(name) {
			values[name] = uritemplate.List(strings.Split(value, ",")...)
		}
	}
	def = l.def
	if def.URI, err = r.template.Expand(values); err != nil {
		return def, err
	}
	read, ok := r.template.Match(def.URI)
	if !ok || !readsBack(r.template.Vars(), want, joinValues(read)) {
		return def, fmt.Errorf("URI %q: the template does not read it with the same values", def.URI)
	}
	if _, err := r.serves(def.URI); err != nil {
		return def, err
	}
	if def.Name == "" {
		def.Name = r.def.Name
	}
	if def.MIMEType == "" {
		def.MIMEType = r.def.MIMEType
	}
	if def.MIMEType != "" && !validMIME(def.MIMEType) {
		return def, fmt.Errorf("MIME type %q: want one such as text/plain, or none", def.MIMEType)
	}
	return def, nil
}

// readsBack reports whether the variables have the same values. Other fields do not count.
func readsBack(vars []string, want, got map[string]string) bool {
	for _, name := range vars {
		if want[name] != got[name] {
			return false
		}
	}
	return true
}

// stringsOf returns the fields of a struct as the strings of a URI, by their JSON names. Fields
// that JSON leaves out, or that are null, are absent.
func stringsOf(vars any) (map[string]string, error) {
	raw, err := json.Marshal(vars)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string)
	for key, value := range rawjson.Members(jsontext.Value(raw)) {
		switch value.Kind() {
		case 'n':
		case '"':
			values[string(key)] = string(rawjson.Unquote(value))
		default:
			values[string(key)] = string(value)
		}
	}
	return values, nil
}
