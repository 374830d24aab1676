package mcpserver

import (
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Cache is the caching hint of a result: how long clients may cache it, and whether caches
// may share it between principals. The zero Cache means that a result is stale at once and
// private.
//
// Public promises that the result is the same for all callers. It is no access control.
// Lists and resources that Visible or Scopes restrict are always sent as private.
//
// Spec: 2026-07-28 server/utilities/caching
type Cache struct {
	TTL    time.Duration
	Public bool
}

func (c Cache) hints(restricted bool) mcp.Caching {
	scope := mcp.CachePrivate
	if c.Public && !restricted {
		scope = mcp.CachePublic
	}
	return mcp.CacheFor(c.TTL, scope)
}
