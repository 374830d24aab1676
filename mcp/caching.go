package mcp

import "time"

// Caching holds the hints that cacheable results carry since 2026-07-28.
//
// Spec: 2026-07-28 server/utilities/caching
type Caching struct {
	// TTLMs is how long the result stays fresh after it was received, in milliseconds. Zero means
	// that it is stale immediately, nil means unspecified.
	TTLMs *int64 `json:"ttlMs,omitzero"`
	// CacheScope says who may share the cached result.
	CacheScope CacheScope `json:"cacheScope,omitzero"`
}

// CacheFor returns the hints for a result that stays fresh for ttl, rounded
// down to whole milliseconds and never below zero.
func CacheFor(ttl time.Duration, scope CacheScope) Caching {
	return Caching{TTLMs: new(max(ttl.Milliseconds(), 0)), CacheScope: scope}
}

// TTL returns how long the result stays fresh. It is zero when TTLMs is nil or
// negative, and at most the largest Duration.
func (c Caching) TTL() time.Duration {
	const maxTTL = int64(1<<63-1) / int64(time.Millisecond)
	if c.TTLMs == nil {
		return 0
	}
	return time.Duration(min(max(*c.TTLMs, 0), maxTTL)) * time.Millisecond
}

// CacheScope says who may share a cached result.
type CacheScope string

// The cache scopes. An absent or unknown scope must be treated as CachePrivate.
const (
	// CachePublic: the result is the same for everyone and may be shared.
	CachePublic CacheScope = "public"
	// CachePrivate: the result may be reused only for requests with the same
	// authorization.
	CachePrivate CacheScope = "private"
)
