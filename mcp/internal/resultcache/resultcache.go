// Package resultcache keeps the results of a client's requests for as long as the server allows.
//
// Spec: 2026-07-28 server/utilities/caching
package resultcache

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
	// maxResults bounds the number of results in the cache.
	maxResults = 1024
	// maxTTL bounds how long a result is used, whatever the server allows.
	maxTTL = 24 * time.Hour
)

// Cache holds results for as long as the server allows. It belongs to one client,
// and so to one server and one principal. No other client uses its results, whether
// their scope is public or private. All methods are safe for concurrent use.
type Cache struct {
	maxBytes int

	mu          sync.Mutex
	results     map[dialect.CacheKey]cachedResult
	bytes       int
	generations map[string]uint64 // by method: how often its results were invalidated
}

// New returns an empty cache for results of maxBytes together. A single result takes at most a
// quarter of them. Zero and less disable the cache.
func New(maxBytes int) *Cache {
	return &Cache{
		maxBytes: maxBytes, results: make(map[dialect.CacheKey]cachedResult), generations: make(map[string]uint64),
	}
}

// cachedResult is one result as it was received.
type cachedResult struct {
	result  jsontext.Value
	expires time.Time
}

func (k *cachedResult) size(key dialect.CacheKey) int {
	return len(k.result) + len(key.Params) + len(key.Name)
}

// Get returns the result under the key, or nil when there is no fresh one.
func (c *Cache) Get(key dialect.CacheKey) jsontext.Value {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.results[key]
	if ok && !time.Now().Before(k.expires) {
		c.removeLocked(key)
		return nil
	}
	return k.result
}

// Generation returns a number that rises whenever results of the method are invalidated.
func (c *Cache) Generation(method string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.generations[method]
}

// Put stores a result that was received just now. It drops the result if results of
// the method were invalidated since the given generation: the server may have
// produced it before the change.
func (c *Cache) Put(key dialect.CacheKey, result jsontext.Value, generation uint64) {
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
	for len(c.results) >= maxResults || c.bytes+size > c.maxBytes {
		c.removeLocked(c.soonestExpiryLocked())
	}
	k.result = slices.Clone(result)
	c.results[key] = k
	c.bytes += size
}

// soonestExpiryLocked returns the key of the result that expires first.
func (c *Cache) soonestExpiryLocked() (first dialect.CacheKey) {
	var expires time.Time
	for key, k := range c.results {
		if expires.IsZero() || k.expires.Before(expires) {
			first, expires = key, k.expires
		}
	}
	return first
}

func (c *Cache) removeLocked(key dialect.CacheKey) {
	if k, ok := c.results[key]; ok {
		c.bytes -= k.size(key)
		delete(c.results, key)
	}
}

// Invalidate removes the results of the methods.
func (c *Cache) Invalidate(methods ...string) {
	c.removeStale(methods, func(dialect.CacheKey) bool { return true })
}

// InvalidateResources removes the contents of the resources whose URIs match. match runs under
// the lock of the cache.
func (c *Cache) InvalidateResources(match func(uri string) bool) {
	c.removeStale([]string{mcp.MethodResourcesRead}, func(key dialect.CacheKey) bool { return match(key.Name) })
}

// InvalidateAll removes all results.
func (c *Cache) InvalidateAll() {
	c.Invalidate(mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodPromptsList,
		mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead)
}

// removeStale removes the results of the methods for which stale returns true.
func (c *Cache) removeStale(methods []string, stale func(dialect.CacheKey) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, method := range methods {
		c.generations[method]++
	}
	for key := range c.results {
		if slices.Contains(methods, key.Method) && stale(key) {
			c.removeLocked(key)
		}
	}
}
