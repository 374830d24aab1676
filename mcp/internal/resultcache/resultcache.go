// Package resultcache keeps the results of a client's requests for as long as the server allows.
//
// Spec: 2026-07-28 server/utilities/caching
package resultcache

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// MaxTTL bounds how long a result is fresh, whatever the server allows.
const MaxTTL = 24 * time.Hour

// Cache holds results of one server for one principal. Memory implements it, and so does
// package sharedcache in a store. All methods are safe for concurrent use.
type Cache interface {
	// Lookup returns the result under the key, and a ticket to store the next one. The
	// result has no value if there is none, and may be stale. Lookup is called before the
	// request is sent, also if its result is not used.
	Lookup(ctx context.Context, key dialect.CacheKey) (Result, Ticket)
	// Put stores a result that was received just now. It drops the result if results of the
	// method were invalidated after the Lookup that returned the ticket: the server may
	// have produced it before the change.
	Put(ctx context.Context, key dialect.CacheKey, result jsontext.Value, t Ticket)
	// Invalidate removes the results of the methods, because the server has reported a
	// change. It does not wait for I/O.
	Invalidate(methods ...string)
	// InvalidateResources removes the contents of the resources whose URIs match, and
	// possibly those of other resources. match must not call the cache.
	InvalidateResources(match func(uri string) bool)
	// NotificationsMissed makes all results stale, because changes may not have been reported.
	NotificationsMissed()
	// CredentialsChanged makes sure that no result of the old credentials is returned.
	CredentialsChanged()
	// Clear removes all results.
	Clear()
}

// Result is a result in a cache.
type Result struct {
	// Value is the result as it was received, or nil for none.
	Value jsontext.Value
	// ReceivedAt is when it was received.
	ReceivedAt time.Time
	// StaleAt is when it became stale, or will.
	StaleAt time.Time
}

// Fresh reports whether there is a result that is not stale.
func (r *Result) Fresh() bool { return r.Value != nil && time.Now().Before(r.StaleAt) }

// Usable reports whether the result is fresh, or has been stale for less than a time.
func (r *Result) Usable(staleFor time.Duration) bool {
	return time.Now().Before(r.StaleAt.Add(staleFor))
}

// Ticket says in which state of the cache a request was sent. Each Cache has a type of its own.
type Ticket any

// Methods are those whose results are cached.
var Methods = []string{
	mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodPromptsList,
	mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead,
}

// Hints returns for how long the server allows to use a result, and who may share it.
func Hints(result jsontext.Value) (ttl time.Duration, scope mcp.CacheScope) {
	var hints mcp.Caching
	if json.Unmarshal(result, &hints) != nil {
		return 0, ""
	}
	return min(hints.TTL(), MaxTTL), hints.CacheScope
}
