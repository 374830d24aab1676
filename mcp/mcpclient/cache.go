package mcpclient

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

const (
	// maxCachedResults bounds the number of results in the cache.
	maxCachedResults = 1024
	// maxTTL bounds how long a result is used, whatever the server allows.
	maxTTL = 24 * time.Hour
)

// cache holds results for as long as the server allows. It belongs to one client,
// and so to one server and one principal. No other client uses its results, whether
// their scope is public or private. All methods are safe for concurrent use.
//
// Spec: 2026-07-28 server/utilities/caching
type cache struct {
	maxBytes int // zero and less disable the cache

	mu          sync.Mutex
	results     map[dialect.CacheKey]cachedResult
	bytes       int
	generations map[string]uint64 // by method: how often its results were invalidated
}

// cachedResult is one result as it was received.
type cachedResult struct {
	result  jsontext.Value
	expires time.Time
}

func (k *cachedResult) size(key dialect.CacheKey) int {
	return len(k.result) + len(key.Params) + len(key.Name)
}

// get returns the result under the key, or nil when there is no fresh one.
func (c *cache) get(key dialect.CacheKey) jsontext.Value {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.results[key]
	if ok && !time.Now().Before(k.expires) {
		c.removeLocked(key)
		return nil
	}
	return k.result
}

// generation returns a number that rises whenever results of the method are invalidated.
func (c *cache) generation(method string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.generations[method]
}

// put stores a result that was received just now. It drops the result if results of
// the method were invalidated since the given generation: the server may have
// produced it before the change.
func (c *cache) put(key dialect.CacheKey, result jsontext.Value, generation uint64) {
	var hints mcp.Caching
	if json.Unmarshal(result, &hints) != nil {
		return
	}
	k := cachedResult{expires: time.Now().Add(min(hints.TTL(), maxTTL)), result: result}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(key)
	size := k.size(key)
	if hints.TTL() == 0 || c.generations[key.Method] != generation || size > c.maxBytes/4 {
		return
	}
	for len(c.results) >= maxCachedResults || c.bytes+size > c.maxBytes {
		c.removeLocked(c.soonestExpiryLocked())
	}
	if c.results == nil {
		c.results = make(map[dialect.CacheKey]cachedResult)
	}
	k.result = slices.Clone(result)
	c.results[key] = k
	c.bytes += size
}

// soonestExpiryLocked returns the key of the result that expires first.
func (c *cache) soonestExpiryLocked() (first dialect.CacheKey) {
	var expires time.Time
	for key, k := range c.results {
		if expires.IsZero() || k.expires.Before(expires) {
			first, expires = key, k.expires
		}
	}
	return first
}

func (c *cache) removeLocked(key dialect.CacheKey) {
	if k, ok := c.results[key]; ok {
		c.bytes -= k.size(key)
		delete(c.results, key)
	}
}

// invalidate removes the results of the methods.
func (c *cache) invalidate(methods ...string) {
	c.removeStale(methods, func(dialect.CacheKey) bool { return true })
}

// invalidateResource removes the contents of a resource, of its parts, and of the
// resources that it is a part of.
func (c *cache) invalidateResource(uri string) {
	c.removeStale([]string{mcp.MethodResourcesRead}, func(key dialect.CacheKey) bool {
		return isPart(key.Name, uri) || isPart(uri, key.Name)
	})
}

// invalidateAll removes all results.
func (c *cache) invalidateAll() {
	c.invalidate(mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodPromptsList,
		mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead)
}

// removeStale removes the results of the methods for which stale returns true.
func (c *cache) removeStale(methods []string, stale func(dialect.CacheKey) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generations == nil {
		c.generations = make(map[string]uint64)
	}
	for _, method := range methods {
		c.generations[method]++
	}
	for key := range c.results {
		if slices.Contains(methods, key.Method) && stale(key) {
			c.removeLocked(key)
		}
	}
}

// invalidatedBy holds, by notification, the methods whose results it makes stale.
var invalidatedBy = map[string][]string{
	mcp.NotificationToolsListChanged:     {mcp.MethodToolsList},
	mcp.NotificationPromptsListChanged:   {mcp.MethodPromptsList},
	mcp.NotificationResourcesListChanged: {mcp.MethodResourcesList, mcp.MethodResourceTemplatesList},
}

// NoCache sends the request even if its result is in the cache of the client. The new
// result replaces the cached one.
func NoCache() CallOption {
	return func(o *callOptions) { o.noCache = true }
}

// reportHit sets hit to whether the result came from the cache.
func reportHit(hit *bool) CallOption {
	return func(o *callOptions) { o.hit = hit }
}

// ClearCache removes all results from the cache. Call it when Options.HTTP.Client or
// Options.HTTP.Auth begins to act for another principal. If that happens often, use one
// client for each principal.
func (c *Client) ClearCache() { c.cache.invalidateAll() }
