package resultcache_test

import (
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

func contents(uri string) dialect.CacheKey {
	return dialect.CacheKey{Method: mcp.MethodResourcesRead, Name: uri}
}

func TestResultIsKeptUntilItExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := resultcache.New(1 << 20)
		c.Put(contents("a:1"), result(time.Minute, 0), 0)
		c.Put(contents("a:2"), result(1000*time.Hour, 0), 0)
		c.Put(contents("a:3"), result(0, 0), 0)
		c.Put(contents("a:4"), jsontext.Value(`[`), 0)
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
				if c.Get(contents(uri)) != nil {
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
	c := resultcache.New(1 << 20)
	key := dialect.CacheKey{Method: mcp.MethodToolsList}
	began := c.Generation(key.Method)
	c.Invalidate(mcp.MethodToolsList)
	c.Put(key, result(time.Minute, 0), began)
	if c.Get(key) != nil {
		t.Error("got a result that was requested before the invalidation")
	}
	c.Put(key, result(time.Minute, 0), c.Generation(key.Method))
	if c.Get(key) == nil {
		t.Error("got nothing, want the result that was requested after it")
	}
}

func TestInvalidateRemovesWhatItNames(t *testing.T) {
	t.Parallel()
	c := resultcache.New(1 << 20)
	list := dialect.CacheKey{Method: mcp.MethodResourcesList}
	for _, key := range []dialect.CacheKey{list, contents("a:1"), contents("b:1")} {
		c.Put(key, result(time.Minute, 0), 0)
	}
	c.InvalidateResources(func(uri string) bool { return strings.HasPrefix(uri, "a:") })
	if c.Get(list) == nil || c.Get(contents("a:1")) != nil || c.Get(contents("b:1")) == nil {
		t.Error("InvalidateResources: want the resource that matches removed alone")
	}
	c.Invalidate(mcp.MethodResourcesList)
	if c.Get(list) != nil || c.Get(contents("b:1")) == nil {
		t.Error("Invalidate: want the results of the method removed alone")
	}
	c.InvalidateAll()
	if c.Get(contents("b:1")) != nil {
		t.Error("InvalidateAll: want nothing left")
	}
}

func TestCacheIsBoundedByBytesAndNumber(t *testing.T) {
	t.Parallel()
	const size = 1000
	small := resultcache.New(4 * size)
	for i := range 8 { // four fit
		small.Put(contents(fmt.Sprint("a:", i)), result(time.Duration(i+1)*time.Minute, size-100), 0)
	}
	small.Put(contents("large"), result(time.Hour, size), 0)
	many := resultcache.New(1 << 30)
	for i := range 2000 {
		many.Put(contents(fmt.Sprint("a:", i)), result(time.Duration(i+1)*time.Minute, 0), 0)
	}
	off := resultcache.New(-1)
	off.Put(contents("a:0"), result(time.Hour, 0), 0)
	count := func(c *resultcache.Cache) (n int) {
		for i := range 2000 {
			if c.Get(contents(fmt.Sprint("a:", i))) != nil {
				n++
			}
		}
		return n
	}
	if n := count(small); n != 4 || small.Get(contents("a:7")) == nil {
		t.Errorf("bytes: got %d results, want the 4 that expire last", n)
	}
	if small.Get(contents("large")) != nil {
		t.Error("got a result that is larger than a quarter of the cache")
	}
	if n := count(many); n != 1024 || many.Get(contents("a:1999")) == nil {
		t.Errorf("number: got %d results, want the 1024 that expire last", n)
	}
	if n := count(off); n != 0 {
		t.Errorf("a negative size: got %d results, want none", n)
	}
}
