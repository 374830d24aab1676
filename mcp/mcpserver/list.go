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

// list handles a list request with one page. more are features that only some requests
// see, see registry.PageParams.
func (s *Server) list(r *Request, l listing, more ...registry.Feature) (any, error) {
	var params mcp.ListParams
	if err := r.Decode(&params); err != nil {
		return nil, err
	}
	if params.Cursor != nil && *params.Cursor == "" {
		params.Cursor = nil // some clients send an empty cursor for the first page
	}
	snap := s.features.Snapshot()
	if !snap.Offers(l.kind) {
		return nil, undeclared(r.method)
	}
	page := registry.PageParams{Kind: l.kind, Cursor: params.Cursor, Who: r.Identity(), Facts: r.call.Facts, Size: s.options.pageSize(), More: more}
	encoded, err := snap.Page(page, func(page []registry.Feature, next *string, restricted bool) any {
		private := restricted || len(s.middleware.scopes(r.method)) > 0
		return l.result(page, next, s.options.cacheFor(r.method).hints(private))
	})
	if err != nil {
		return nil, err
	}
	return encoded, nil
}

// undeclared is the error for a method of a capability that the server does not declare.
func undeclared(method string) error {
	return mcp.Errorf(mcp.CodeMethodNotFound, "method %q: this server does not declare the capability", method)
}
