package mcptest_test

import (
	"bytes"
	"context"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// brokenStores are stores by what is wrong with them, and the subtests that find it.
var brokenStores = map[string]struct {
	fails string
	open  func() (one, two mcp.Store)
}{
	"does not share values": {"values are kept until they are deleted", func() (one, two mcp.Store) {
		return new(mcpserver.MemoryStore), new(mcpserver.MemoryStore)
	}},
	"has no empty values": {"values are kept until they are deleted", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.get = func(ctx context.Context, key string) ([]byte, bool, error) {
				value, found, err := s.Store.Get(ctx, key)
				return value, found && len(value) > 0, err
			}
		})
	}},
	"creates over a value": {"values are kept until they are deleted", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.create = func(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
				return true, s.Store.Put(ctx, key, value, ttl)
			}
		})
	}},
	"caches what it has read": {"writes are seen by all replicas", func() (one, two mcp.Store) {
		s := new(mcpserver.MemoryStore)
		return s, &cachingStore{Store: s}
	}},
	"keeps the slices of its callers": {"values belong to their callers", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			var kept sync.Map
			s.put = func(ctx context.Context, key string, value []byte, ttl time.Duration) error {
				kept.Store(key, value)
				return s.Store.Put(ctx, key, value, ttl)
			}
			s.get = func(ctx context.Context, key string) ([]byte, bool, error) {
				if value, found := kept.Load(key); found {
					return value.([]byte), true, nil
				}
				return s.Store.Get(ctx, key)
			}
		})
	}},
	"returns its own slices": {"values belong to their callers", func() (one, two mcp.Store) {
		s := &cachingStore{Store: new(mcpserver.MemoryStore)}
		return s, s
	}},
	"ignores the ttl": {"values expire", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.put = func(ctx context.Context, key string, value []byte, _ time.Duration) error {
				return s.Store.Put(ctx, key, value, 0)
			}
		})
	}},
	"expires too early": {"values expire", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.put = func(ctx context.Context, key string, value []byte, ttl time.Duration) error {
				return s.Store.Put(ctx, key, value, ttl/1000)
			}
		})
	}},
	"keeps the old expiry": {"values expire", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.put = func(ctx context.Context, key string, value []byte, ttl time.Duration) error {
				if old, found, err := s.Store.Get(ctx, key); ttl == 0 && err == nil && found {
					swapped, err := s.Store.Swap(ctx, key, old, value, 300*time.Millisecond)
					if swapped || err != nil {
						return err
					}
				}
				return s.Store.Put(ctx, key, value, ttl)
			}
		})
	}},
	"rounds a ttl to 0": {"short times to live are no eternity", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.put = func(ctx context.Context, key string, value []byte, ttl time.Duration) error {
				return s.Store.Put(ctx, key, value, ttl.Truncate(time.Second))
			}
		})
	}},
	"takes a negative ttl as none": {"a negative time to live fails", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.put = func(ctx context.Context, key string, value []byte, ttl time.Duration) error {
				return s.Store.Put(ctx, key, value, max(ttl, 0))
			}
		})
	}},
	"does not renew the ttl of the same value": {"a swap renews a lease", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.swap = func(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
				if bytes.Equal(old, value) {
					present, found, err := s.Store.Get(ctx, key)
					return found && bytes.Equal(present, old), err
				}
				return s.Store.Swap(ctx, key, old, value, ttl)
			}
		})
	}},
	"creates in two steps": {"one of many creates a value", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.create = func(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
				if _, found, err := s.Store.Get(ctx, key); found || err != nil {
					return false, err
				}
				time.Sleep(time.Millisecond)
				return true, s.Store.Put(ctx, key, value, ttl)
			}
		})
	}},
	"loses a swap": {"no swap is lost", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.swap = func(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
				if present, found, err := s.Store.Get(ctx, key); !found || err != nil || !bytes.Equal(present, old) {
					return false, err
				}
				time.Sleep(time.Millisecond)
				return true, s.Store.Put(ctx, key, value, ttl)
			}
		})
	}},
	"swaps nothing for something": {"a swap compares", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.swap = func(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
				if len(old) == 0 {
					if created, err := s.Store.Create(ctx, key, value, ttl); created || err != nil {
						return created, err
					}
				}
				return s.Store.Swap(ctx, key, old, value, ttl)
			}
		})
	}},
	"lists by a pattern": {"lists are in order", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.list = func(ctx context.Context, prefix, after string, limit int) ([]string, error) {
				all, err := s.Store.List(ctx, "", after, 1000)
				all = slices.DeleteFunc(all, func(key string) bool {
					matches, err := path.Match(prefix+"*", key)
					return err != nil || !matches
				})
				return all[:min(len(all), limit)], err
			}
		})
	}},
	"lists without order": {"lists are in order", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.list = func(ctx context.Context, prefix, after string, limit int) ([]string, error) {
				keys, err := s.Store.List(ctx, prefix, after, limit)
				slices.Reverse(keys)
				return keys, err
			}
		})
	}},
	"lists one page": {"large lists are complete", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.list = func(ctx context.Context, prefix, after string, limit int) ([]string, error) {
				return s.Store.List(ctx, prefix, after, min(limit, 100))
			}
		})
	}},
	"takes every key": {"keys and values have limits", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.put = func(ctx context.Context, key string, value []byte, ttl time.Duration) error {
				return s.Store.Put(ctx, "k"+key[:min(len(key), 255)], value, ttl)
			}
		})
	}},
	"cuts large values": {"keys and values have limits", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.put = func(ctx context.Context, key string, value []byte, ttl time.Duration) error {
				return s.Store.Put(ctx, key, value[:min(len(value), 1<<16)], ttl)
			}
		})
	}},
	"ignores contexts": {"calls end with their context", func() (one, two mcp.Store) {
		return brokenStore(func(s *changedStore) {
			s.get = func(ctx context.Context, key string) ([]byte, bool, error) {
				if ctx.Err() != nil {
					select {}
				}
				return s.Store.Get(ctx, key)
			}
		})
	}},
}

// brokenStore returns a store in memory that is changed, twice.
func brokenStore(change func(*changedStore)) (one, two mcp.Store) {
	s := &changedStore{Store: new(mcpserver.MemoryStore)}
	change(s)
	return s, s
}

// changedStore is a Store of which some methods are replaced.
type changedStore struct {
	mcp.Store
	get    func(ctx context.Context, key string) ([]byte, bool, error)
	put    func(ctx context.Context, key string, value []byte, ttl time.Duration) error
	create func(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error)
	swap   func(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error)
	list   func(ctx context.Context, prefix, after string, limit int) ([]string, error)
}

func (s *changedStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if s.get != nil {
		return s.get(ctx, key)
	}
	return s.Store.Get(ctx, key)
}

func (s *changedStore) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if s.put != nil {
		return s.put(ctx, key, value, ttl)
	}
	return s.Store.Put(ctx, key, value, ttl)
}

func (s *changedStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	if s.create != nil {
		return s.create(ctx, key, value, ttl)
	}
	return s.Store.Create(ctx, key, value, ttl)
}

func (s *changedStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	if s.swap != nil {
		return s.swap(ctx, key, old, value, ttl)
	}
	return s.Store.Swap(ctx, key, old, value, ttl)
}

func (s *changedStore) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	if s.list != nil {
		return s.list(ctx, prefix, after, limit)
	}
	return s.Store.List(ctx, prefix, after, limit)
}

// cachingStore returns what it has read before, and the same slice each time.
type cachingStore struct {
	mcp.Store
	cache sync.Map
}

func (s *cachingStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if value, found := s.cache.Load(key); found {
		return value.([]byte), true, nil
	}
	value, found, err := s.Store.Get(ctx, key)
	if found {
		s.cache.Store(key, value)
	}
	return value, found, err
}
