package resultcache_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/resultcache"
)

// result returns a result that may be used for so long, with a filling.
func result(ttl time.Duration, filling int) jsontext.Value {
	return jsontext.Value(fmt.Sprintf(`{"ttlMs":%d,"filling":"%s"}`, ttl.Milliseconds(), strings.Repeat("x", filling)))
}

// put stores a result as that of a request that was sent just now.
func put(c resultcache.Cache, key dialect.CacheKey, r jsontext.Value) {
	_, ticket := c.Lookup(context.Background(), key)
	c.Put(context.Background(), key, r, ticket)
}

// get returns the fresh result under the key.
func get(c resultcache.Cache, key dialect.CacheKey) jsontext.Value {
	if r, _ := c.Lookup(context.Background(), key); r.Fresh() {
		return r.Value
	}
	return nil
}

func contents(uri string) dialect.CacheKey {
	return dialect.CacheKey{Method: mcp.MethodResourcesRead, Name: uri}
}

func TestResultIsKeptUntilItExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := resultcache.NewMemory(1<<20, 0)
		put(c, contents("a:1"), result(time.Minute, 0))
		put(c, contents("a:2"), result(1000*time.Hour, 0))
		put(c, contents("a:3"), result(0, 0))
		put(c, contents("a:4"), jsontext.Value(`[`))
		for _, test := range []struct {
			after time.Duration
			want  string
		}{
			{0, "a:1 a:2"},
			{time.Minute, "a:2"},
			{24 * time.Hour, ""}, // whatever the server allows
		} {
			time.Sleep(test.after)
			var found []string
			for _, uri := range []string{"a:1", "a:2", "a:3", "a:4"} {
				if get(c, contents(uri)) != nil {
					found = append(found, uri)
				}
			}
			if got := strings.Join(found, " "); got != test.want {
				t.Errorf("after %v more: got %q, want %q", test.after, got, test.want)
			}
		}
	})
}

func TestResultOfAnOlderGenerationIsNotKept(t *testing.T) {
	t.Parallel()
	c := resultcache.NewMemory(1<<20, 0)
	key := dialect.CacheKey{Method: mcp.MethodToolsList}
	_, began := c.Lookup(t.Context(), key)
	c.Invalidate(mcp.MethodToolsList)
	c.Put(t.Context(), key, result(time.Minute, 0), began)
	if get(c, key) != nil {
		t.Error("got a result that was requested before the invalidation")
	}
	put(c, key, result(time.Minute, 0))
	if get(c, key) == nil {
		t.Error("got nothing, want the result that was requested after it")
	}
}

func TestInvalidateRemovesWhatItNames(t *testing.T) {
	t.Parallel()
	c := resultcache.NewMemory(1<<20, 0)
	list := dialect.CacheKey{Method: mcp.MethodResourcesList}
	for _, key := range []dialect.CacheKey{list, contents("a:1"), contents("b:1")} {
		put(c, key, result(time.Minute, 0))
	}
	c.InvalidateResources(func(uri string) bool { return strings.HasPrefix(uri, "a:") })
	if get(c, list) == nil || get(c, contents("a:1")) != nil || get(c, contents("b:1")) == nil {
		t.Error("InvalidateResources: want the resource that matches removed alone")
	}
	c.Invalidate(mcp.MethodResourcesList)
	if get(c, list) != nil || get(c, contents("b:1")) == nil {
		t.Error("Invalidate: want the results of the method removed alone")
	}
	c.Clear()
	if get(c, contents("b:1")) != nil {
		t.Error("Clear: want nothing left")
	}
}

func TestCacheIsBoundedByBytesAndNumber(t *testing.T) {
	t.Parallel()
	const size = 1000
	small := resultcache.NewMemory(4*size, 0)
	for i := range 8 { // four fit
		put(small, contents(fmt.Sprint("a:", i)), result(time.Duration(i+1)*time.Minute, size-100))
	}
	put(small, contents("large"), result(time.Hour, size))
	many := resultcache.NewMemory(1<<30, 0)
	for i := range 2000 {
		put(many, contents(fmt.Sprint("a:", i)), result(time.Duration(i+1)*time.Minute, 0))
	}
	off := resultcache.NewMemory(-1, 0)
	put(off, contents("a:0"), result(time.Hour, 0))
	count := func(c resultcache.Cache) (n int) {
		for i := range 2000 {
			if get(c, contents(fmt.Sprint("a:", i))) != nil {
				n++
			}
		}
		return n
	}
	if n := count(small); n != 4 || get(small, contents("a:7")) == nil {
		t.Errorf("bytes: got %d results, want the 4 that expire last", n)
	}
	if get(small, contents("large")) != nil {
		t.Error("got a result that is larger than a quarter of the cache")
	}
	if n := count(many); n != 1024 || get(many, contents("a:1999")) == nil {
		t.Errorf("number: got %d results, want the 1024 that expire last", n)
	}
	if n := count(off); n != 0 {
		t.Errorf("a negative size: got %d results, want none", n)
	}
}
