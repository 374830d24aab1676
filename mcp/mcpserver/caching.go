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

func (c Cache) hints(restricted bool) mcp.Caching {
	scope := mcp.CachePrivate
	if c.Public && !restricted {
		scope = mcp.CachePublic
	}
	return mcp.CacheFor(c.TTL, scope)
}
