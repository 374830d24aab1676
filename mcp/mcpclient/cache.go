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
	// maxKept bounds the results that are kept.
	maxKept = 1024
	// mostFresh bounds how long one is, whatever the server says.
	mostFresh = 24 * time.Hour
)

// cache keeps results for as long as the server allows. It belongs to one
// client, and so to one server and one principal: nothing in it, public or
// private, reaches anybody else. All methods are safe for concurrent use.
//
// Spec: 2026-07-28 server/utilities/caching
type cache struct {
	most int // bytes; not more than 0 keeps nothing

	mu    sync.Mutex
	kept  map[dialect.CacheKey]kept
	bytes int
	news  map[string]uint64 // by method, how often its results became stale
}

// kept is one result, as it came.
type kept struct {
	result jsontext.Value
	until  time.Time
}

func (k *kept) size(key dialect.CacheKey) int { return len(k.result) + len(key.Params) + len(key.Name) }

// get returns the result under the key, or nil when there is no fresh one.
func (c *cache) get(key dialect.CacheKey) jsontext.Value {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.kept[key]
	if ok && !time.Now().Before(k.until) {
		c.removeLocked(key)
		return nil
	}
	return k.result
}

// newsOf returns a count that rises whenever results of the method become stale.
func (c *cache) newsOf(method string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.news[method]
}

// put keeps a result that was received just now. It does not when there was news
// after the given count, for the result may be older than the news.
func (c *cache) put(key dialect.CacheKey, result jsontext.Value, news uint64) {
	var hints mcp.Caching
	if json.Unmarshal(result, &hints) != nil {
		return
	}
	k := kept{until: time.Now().Add(min(hints.TTL(), mostFresh)), result: result}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(key)
	size := k.size(key)
	if hints.TTL() == 0 || c.news[key.Method] != news || size > c.most/4 {
		return
	}
	for len(c.kept) >= maxKept || c.bytes+size > c.most {
		c.removeLocked(c.stalestLocked())
	}
	if c.kept == nil {
		c.kept = make(map[dialect.CacheKey]kept)
	}
	k.result = slices.Clone(result)
	c.kept[key] = k
	c.bytes += size
}

// stalestLocked returns the key of the result that is stale first.
func (c *cache) stalestLocked() (first dialect.CacheKey) {
	var until time.Time
	for key, k := range c.kept {
		if until.IsZero() || k.until.Before(until) {
			first, until = key, k.until
		}
	}
	return first
}

func (c *cache) removeLocked(key dialect.CacheKey) {
	if k, ok := c.kept[key]; ok {
		c.bytes -= k.size(key)
		delete(c.kept, key)
	}
}

// forget drops the results of the methods.
func (c *cache) forget(methods ...string) {
	c.drop(methods, func(dialect.CacheKey) bool { return true })
}

// forgetResource drops what was read of a resource, of its parts, and of what it
// is a part of.
func (c *cache) forgetResource(uri string) {
	c.drop([]string{mcp.MethodResourcesRead}, func(key dialect.CacheKey) bool {
		return isPart(key.Name, uri) || isPart(uri, key.Name)
	})
}

// forgetAll drops everything.
func (c *cache) forgetAll() {
	c.forget(mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodPromptsList,
		mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead)
}

func (c *cache) drop(methods []string, stale func(dialect.CacheKey) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.news == nil {
		c.news = make(map[string]uint64)
	}
	for _, method := range methods {
		c.news[method]++
	}
	for key := range c.kept {
		if slices.Contains(methods, key.Method) && stale(key) {
			c.removeLocked(key)
		}
	}
}

// changedBy returns the methods whose results are stale once a notification has
// come.
var changedBy = map[string][]string{
	mcp.NotificationToolsListChanged:     {mcp.MethodToolsList},
	mcp.NotificationPromptsListChanged:   {mcp.MethodPromptsList},
	mcp.NotificationResourcesListChanged: {mcp.MethodResourcesList, mcp.MethodResourceTemplatesList},
}

// NoCache asks the server even if a result of the same request is kept.
func NoCache() CallOption {
	return func(o *callOptions) { o.noCache = true }
}

// noteKept has hit set to whether the result was a kept one.
func noteKept(hit *bool) CallOption {
	return func(o *callOptions) { o.hit = hit }
}

// ClearCache drops all results that are kept. Call it when HTTP.Client or HTTP.Auth
// begins to act for another principal; where that happens often, one client for
// each is the better way.
func (c *Client) ClearCache() { c.cache.forgetAll() }
