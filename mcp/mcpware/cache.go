package mcpware

import (
	"container/list"
	"context"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// What a Cache keeps: entries, and the longest arguments of one.
const (
	maxCached   = 1024
	maxCacheKey = 4 << 10
)

// Cache returns middleware for a server that keeps the results of tools for ttl, and
// answers calls with the same arguments of the same principal by them. The tools are
// those that are named: their results have to depend on nothing but arguments and
// principal. Results that failed, asked or became tasks are not kept, and neither are
// those of arguments of more than 4 KiB. It keeps 1,024 results; the one that was used
// least recently makes room. Anonymous callers are one principal. Results that are kept
// are shared by their calls and must not be modified by middleware around it. It panics
// when ttl is not positive or no tool is named.
func Cache(ttl time.Duration, tools ...string) mcpserver.Middleware {
	if ttl <= 0 || len(tools) == 0 {
		panic(fmt.Sprintf("mcpware.Cache: %v for %d tools: want more than 0, and the names of some", ttl, len(tools)))
	}
	c := &cache{ttl: ttl, entries: make(map[cacheKey]*list.Element)}
	return func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			key, ok := keyOf(r, tools)
			if !ok {
				return next(ctx, r)
			}
			if result := c.get(key); result != nil {
				return result, nil
			}
			result, err := next(ctx, r)
			if kept, ok := result.(*mcp.CallToolResult); ok && err == nil && kept != nil && !kept.IsError {
				c.put(key, kept)
			}
			return result, err
		}
	}
}

// cacheKey is what a result depends on.
type cacheKey struct {
	principal mcp.Principal
	tool      string
	arguments string // in the canonical form
}

// keyOf returns the key of a call whose result may be kept. Calls that bring answers,
// or want to be tasks, have none.
func keyOf(r *mcpserver.Request, tools []string) (cacheKey, bool) {
	if r.Outbound || r.Method != mcp.MethodToolsCall {
		return cacheKey{}, false
	}
	var p mcp.CallToolParams
	if r.Decode(&p) != nil || !slices.Contains(tools, p.Name) || p.Task != nil || p.RequestState != nil || len(p.InputResponses) > 0 {
		return cacheKey{}, false
	}
	arguments := slices.Clone(p.Arguments)
	if len(arguments) > maxCacheKey || len(arguments) > 0 && arguments.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		return cacheKey{}, false
	}
	return cacheKey{r.Principal(), p.Name, string(arguments)}, true
}

// cache keeps results. It is safe for concurrent use.
type cache struct {
	ttl time.Duration

	mu      sync.Mutex
	entries map[cacheKey]*list.Element // guarded by mu
	used    list.List                  // guarded by mu: of *cached, the one used last first
}

type cached struct {
	key     cacheKey
	result  *mcp.CallToolResult
	expires time.Time
}

// get returns the result under a key, or nil.
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		c.drop(e)
	}
	for len(c.entries) >= maxCached {
		c.drop(c.used.Back())
	}
	c.entries[key] = c.used.PushFront(&cached{key, result, time.Now().Add(c.ttl)})
}

// drop forgets a result. The caller holds mu.
func (c *cache) drop(e *list.Element) {
	delete(c.entries, c.used.Remove(e).(*cached).key)
}
