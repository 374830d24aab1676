package jsonschema

import (
	"container/list"
	"crypto/sha256"
	"encoding/json/jsontext"
	"slices"
	"sync"
)

// Limits of the cache of validators. A compiled validator takes about twenty times the memory
// of its text.
const (
	cacheEntries = 1_024
	cacheBytes   = 4 << 20
)

var validators = cache{entries: cacheEntries, bytes: cacheBytes}

// cache keeps the most recently used validators by the digest of their text. Equal texts share
// a Validator, because it depends only on the text and the limits. It is safe for concurrent
// use; schemas are compiled outside its lock.
type cache struct {
	entries int // greatest number of entries
	bytes   int // greatest length of all texts together

	mu    sync.Mutex
	byKey map[cacheKey]*list.Element
	order list.List // of *cacheEntry, the most recently used in front
	size  int
}

type cacheKey struct {
	digest [sha256.Size]byte
	limits Limits
}

type cacheEntry struct {
	key       cacheKey
	validator *Validator
}

// get returns the Validator of a text.
func (c *cache) get(text jsontext.Value, limits *Limits) *Validator {
	key := cacheKey{digest: sha256.Sum256(text)}
	if limits != nil {
		key.limits = *limits
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.order.MoveToFront(e)
		return e.Value.(*cacheEntry).validator
	}
	entry := &cacheEntry{key, newValidator(slices.Clone(text), key.limits)}
	if c.byKey == nil {
		c.byKey = make(map[cacheKey]*list.Element)
	}
	c.byKey[key] = c.order.PushFront(entry)
	c.size += len(text)
	c.shrink()
	return entry.validator
}

// shrink drops the least recently used entries beyond the limits.
func (c *cache) shrink() {
	for c.order.Len() > c.entries || c.size > c.bytes {
		last := c.order.Back()
		entry := c.order.Remove(last).(*cacheEntry)
		delete(c.byKey, entry.key)
		c.size -= len(entry.validator.text)
	}
}
