package mcpserver

import (
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Cache says how long a result may be kept, and whether different principals
// may share it. The zero Cache is: not at all, private.
//
// Public is a promise that the result is the same for everybody. It protects
// nothing: what not everybody may see has to be refused. Lists and resources with
// something that is restricted by Visible or Scopes are private, whatever Public
// says.
//
// Spec: 2026-07-28 server/utilities/caching
type Cache struct {
	TTL    time.Duration
	Public bool
}

// CacheResource is the option that says how long clients may keep the contents.
func CacheResource(c Cache) ResourceOption { return cacheResource(c) }

type cacheResource Cache

func (c cacheResource) resource(r *resource) { r.cache = new(Cache(c)) }

func (c Cache) hints(restricted bool) mcp.Caching {
	scope := mcp.CachePrivate
	if c.Public && !restricted {
		scope = mcp.CachePublic
	}
	return mcp.CacheFor(c.TTL, scope)
}

// cacheFor returns the hints for results of a list method or server/discover.
func (o *Options) cacheFor(method string) Cache {
	if c, ok := o.orZero().MethodCache[method]; ok {
		return c
	}
	return o.orZero().ListCache
}

// hinted returns the result of a read with the caching hints of the handler, or else with
// those of the resource.
func (s *Server) hinted(r *resource, read *mcp.ReadResourceResult) *mcp.ReadResourceResult {
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
