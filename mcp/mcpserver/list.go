package mcpserver

import (
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/registry"
)

// listing defines the list result of one kind of feature.
type listing struct {
	kind registry.Kind
	// result makes the list result of one page.
	result func(page []registry.Feature, next *string, hints mcp.Caching) any
}

// list handles a list request.
func (s *Server) list(r *Request, l listing) (any, error) {
	params, err := listParams(r)
	if err != nil {
		return nil, err
	}
	return s.listPage(r, s.features.Snapshot(), l, registry.PageParams{Cursor: params.Cursor, More: s.listedFeatures(r, l.kind)}, false)
}

// listPage returns the page of a list whose cursor and further parts are in page. perCaller says
// that the list differs between callers for another reason than the access to its features and
// Options.RequestFeatures.
func (s *Server) listPage(r *Request, snap *registry.Snapshot, l listing, page registry.PageParams, perCaller bool) (any, error) {
	if !snap.Offers(l.kind) {
		return nil, undeclared(r.method)
	}
	page.Kind, page.Who, page.Facts, page.Size = l.kind, r.Identity(), r.call.Facts, s.options.pageSize()
	encoded, err := snap.Page(page, func(features []registry.Feature, next *string, restricted bool) any {
		private := restricted || perCaller || s.options.orZero().RequestFeatures != nil || len(s.middleware.scopes(r.method)) > 0
		return l.result(features, next, s.options.cacheFor(r.method).hints(private))
	})
	if err != nil {
		return nil, err
	}
	return encoded, nil
}

// listParams returns the params of a list request.
func listParams(r *Request) (p mcp.ListParams, err error) {
	err = r.Decode(&p)
	if p.Cursor != nil && *p.Cursor == "" {
		p.Cursor = nil // some clients send an empty cursor for the first page
	}
	return p, err
}

// undeclared is the error for a method of a capability that the server does not declare.
func undeclared(method string) error {
	return mcp.Errorf(mcp.CodeMethodNotFound, "method %q: this server does not declare the capability", method)
}
