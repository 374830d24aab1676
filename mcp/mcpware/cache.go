package mcpware

import (
	"container/list"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Limits of a Cache: its results, their bytes as JSON, and the bytes of one and of its arguments.
const (
	maxCached       = 1024
	maxCachedBytes  = 16 << 20
	maxCachedResult = maxCachedBytes / 4
	maxCacheKey     = 4 << 10
)

// Cache is an option of a tool that caches its results for ttl, and answers calls with the same
// arguments by the same caller from the cache. The result must depend only on the arguments, the
// principal and its scopes. Anonymous callers are one principal.
//
// Only a call that reaches the tool gets a cached result: the tool is registered and
// enabled, the caller may see it and has its scopes, and the arguments are valid. Each
// registration has its own cache, so a replaced tool starts with an empty one. Rate,
// Limit and Timeout do not count calls that are answered from the cache.
//
// Errors, results of calls that have asked the client something ([mcpserver.Request.Asked]),
// tasks, results of more than 4 MiB, and results of arguments of more than 4 KiB are not cached.
// The cache of a tool has 1,024 results of 16 MiB in all; beyond that, the least recently used
// ones are dropped. Cache panics if ttl is not positive.
func Cache(ttl time.Duration) mcpserver.ToolOption {
	if ttl <= 0 {
		panic(fmt.Sprintf("mcpware.Cache: ttl %v: want more than 0", ttl))
	}
	return mcpserver.Wrap(func(next mcpserver.ToolHandler) mcpserver.ToolHandler {
		c := &cache{ttl: ttl, entries: make(map[cacheKey]*list.Element)}
		return func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			key, ok := keyOf(ctx, p)
			if !ok {
				return next(ctx, p)
			}
			if result := c.get(key); result != nil {
				return copyResult(result), nil
			}
			result, err := next(ctx, p)
			if kept, ok := result.(*mcp.CallToolResult); ok && err == nil && kept != nil && !kept.IsError && !mcpserver.From(ctx).Asked() {
				c.put(key, copyResult(kept))
			}
			return result, err
		}
	})
}

// copyResult returns a result whose fields can be set without changing r.
func copyResult(r *mcp.CallToolResult) *mcp.CallToolResult {
	c := *r
	c.Content, c.Meta = slices.Clone(r.Content), maps.Clone(r.Meta)
	return &c
}

// cacheKey holds everything that a result depends on.
type cacheKey struct {
	principal mcp.Principal
	scopes    string // the set, sorted; handlers may ask for more than the tool does
	arguments string // in the canonical form
}

// keyOf returns the key of a call whose result may be cached. Calls that have asked, that carry
// answers, or that request a task have none.
func keyOf(ctx context.Context, p *mcp.CallToolParams) (cacheKey, bool) {
	r := mcpserver.From(ctx)
	if r.Asked() || p.Task != nil || p.RequestState != nil || len(p.InputResponses) > 0 {
		return cacheKey{}, false
	}
	arguments := slices.Clone(p.Arguments)
	if len(arguments) > maxCacheKey || len(arguments) > 0 && arguments.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		return cacheKey{}, false
	}
	key := cacheKey{principal: r.Principal(), arguments: string(arguments)}
	if who := r.Identity(); who != nil {
		key.scopes = fmt.Sprintf("%q", slices.Compact(slices.Sorted(slices.Values(who.Scopes))))
	}
	return key, true
}

// cache is a cache of results with least-recently-used eviction. It is safe for
// concurrent use.
type cache struct {
	ttl time.Duration

	mu      sync.Mutex
	entries map[cacheKey]*list.Element // guarded by mu
	used    list.List                  // guarded by mu: of *cached, the most recently used first
	bytes   int                        // guarded by mu: of all results, with their arguments
}

type cached struct {
	key     cacheKey
	result  *mcp.CallToolResult
	bytes   int
	expires time.Time
}

// get returns the result of a key, or nil.
func (c *cache) get(key cacheKey) *mcp.CallToolResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		return nil
	}
	kept := e.Value.(*cached)
	if !time.Now().Before(kept.expires) {
		c.drop(e)
		return nil
	}
	c.used.MoveToFront(e)
	return kept.result
}

func (c *cache) put(key cacheKey, result *mcp.CallToolResult) {
	var size counter
	if json.MarshalWrite(&size, result) != nil || size > maxCachedResult {
		return
	}
	bytes := int(size) + len(key.arguments)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		c.drop(e)
	}
	for len(c.entries) >= maxCached || c.bytes+bytes > maxCachedBytes {
		c.drop(c.used.Back())
	}
	c.bytes += bytes
	c.entries[key] = c.used.PushFront(&cached{key, result, bytes, time.Now().Add(c.ttl)})
}

// drop removes a result. The caller holds mu.
func (c *cache) drop(e *list.Element) {
	dropped := c.used.Remove(e).(*cached)
	c.bytes -= dropped.bytes
	delete(c.entries, dropped.key)
}

// counter is an io.Writer that counts bytes.
type counter int

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}
