package jsonschema

import (
	"container/list"
	"crypto/sha256"
	"encoding/json/jsontext"
	"slices"
	"sync"
)

// Limits of the programs kept for texts that come again. A program takes some
// twenty times the memory of its text.
const (
	cacheEntries = 1_024
	cacheBytes   = 4 << 20
)

var programs = cache{entries: cacheEntries, bytes: cacheBytes}

// cache keeps the most recently used programs by the digest of their text. It is
// safe for concurrent use; schemas are compiled outside its lock.
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
	key     cacheKey
	size    int
	program func() (*program, error)
}

// get returns the function that compiles text at its first call and returns the
// same program, or the same error, ever after.
func (c *cache) get(text jsontext.Value, limits *Limits) func() (*program, error) {
	key := cacheKey{digest: sha256.Sum256(text)}
	if limits != nil {
		key.limits = *limits
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.order.MoveToFront(e)
		return e.Value.(*cacheEntry).program
	}
	text = slices.Clone(text)
	entry := &cacheEntry{key, len(text), sync.OnceValues(func() (*program, error) {
		return compile(text, &key.limits)
	})}
	if c.byKey == nil {
		c.byKey = make(map[cacheKey]*list.Element)
	}
	c.byKey[key] = c.order.PushFront(entry)
	c.size += entry.size
	c.shrink()
	return entry.program
}

// shrink drops the least recently used entries beyond the limits.
func (c *cache) shrink() {
	for c.order.Len() > c.entries || c.size > c.bytes {
		last := c.order.Back()
		entry := c.order.Remove(last).(*cacheEntry)
		delete(c.byKey, entry.key)
		c.size -= entry.size
	}
}
