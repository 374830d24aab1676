package resultcache

import (
	"context"
	"encoding/json/jsontext"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// maxResults bounds the number of results in a Memory.
const maxResults = 1024

// Memory is a Cache in memory. It belongs to one client, and so to one server and one principal.
// No other client uses its results, whether their scope is public or private.
type Memory struct {
	maxBytes int
	staleFor time.Duration

	mu          sync.Mutex
	results     map[dialect.CacheKey]Result
	bytes       int
	generations map[string]uint64 // by method: how often its results were invalidated
}

var _ Cache = (*Memory)(nil)

// memoryTicket is the generation of the method.
type memoryTicket uint64

// NewMemory returns an empty cache for results of maxBytes together. A single result takes at most
// a quarter of them. Zero and less disable the cache. Results are kept for staleFor after they
// became stale.
func NewMemory(maxBytes int, staleFor time.Duration) *Memory {
	return &Memory{
		maxBytes: maxBytes, staleFor: staleFor,
		results: make(map[dialect.CacheKey]Result), generations: make(map[string]uint64),
	}
}

func sizeOf(key dialect.CacheKey, r Result) int {
	return len(r.Value) + len(key.Params) + len(key.Name)
}

// Lookup implements Cache.
func (c *Memory) Lookup(_ context.Context, key dialect.CacheKey) (Result, Ticket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := memoryTicket(c.generations[key.Method])
	r, ok := c.results[key]
	if ok && !r.Usable(c.staleFor) {
		c.removeLocked(key)
		return Result{}, t
	}
	return r, t
}

// Put implements Cache.
func (c *Memory) Put(_ context.Context, key dialect.CacheKey, result jsontext.Value, t Ticket) {
	generation, _ := t.(memoryTicket)
	ttl, _ := Hints(result)
	now := time.Now()
	r := Result{Value: result, ReceivedAt: now, StaleAt: now.Add(ttl)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(key)
	size := sizeOf(key, r)
	if ttl == 0 || c.generations[key.Method] != uint64(generation) || size > c.maxBytes/4 {
		return
	}
	for len(c.results) >= maxResults || c.bytes+size > c.maxBytes {
		c.removeLocked(c.soonestStaleLocked())
	}
	r.Value = slices.Clone(result)
	c.results[key] = r
	c.bytes += size
}

// soonestStaleLocked returns the key of the result that becomes stale first.
func (c *Memory) soonestStaleLocked() (first dialect.CacheKey) {
	var at time.Time
	for key, r := range c.results {
		if at.IsZero() || r.StaleAt.Before(at) {
			first, at = key, r.StaleAt
		}
	}
	return first
}

func (c *Memory) removeLocked(key dialect.CacheKey) {
	if r, ok := c.results[key]; ok {
		c.bytes -= sizeOf(key, r)
		delete(c.results, key)
	}
}

// Invalidate implements Cache.
func (c *Memory) Invalidate(methods ...string) {
	c.removeStale(methods, func(dialect.CacheKey) bool { return true })
}

// InvalidateResources implements Cache. match runs under the lock of the cache.
func (c *Memory) InvalidateResources(match func(uri string) bool) {
	c.removeStale([]string{mcp.MethodResourcesRead}, func(key dialect.CacheKey) bool { return match(key.Name) })
}

// NotificationsMissed implements Cache.
func (c *Memory) NotificationsMissed() {
	if c.staleFor == 0 {
		c.Clear()
		return
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, method := range Methods {
		c.generations[method]++
	}
	for key, r := range c.results {
		if now.Before(r.StaleAt) {
			r.StaleAt = now
			c.results[key] = r
		}
	}
}

// CredentialsChanged implements Cache.
func (c *Memory) CredentialsChanged() { c.Clear() }

// Clear implements Cache.
func (c *Memory) Clear() { c.Invalidate(Methods...) }

// removeStale removes the results of the methods for which stale returns true.
func (c *Memory) removeStale(methods []string, stale func(dialect.CacheKey) bool) {
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
