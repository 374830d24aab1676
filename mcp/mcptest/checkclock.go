package mcptest

import (
	"testing"
	"testing/synctest"
	"time"
)

// clocks lets a replica whose clock is many years behind write and read values that expire.
func (c *faultCheck) clocks() {
	s := c.replicas[0].store
	if s == nil {
		return
	}
	put := func(key string, ttl time.Duration) {
		if err := s.Put(c.Context(), c.prefix+key, []byte("value"), ttl); err != nil {
			c.Fatalf("Put: %v", err)
		}
	}
	put("short", storeTTL)
	put("long", time.Hour)
	c.expires(s, c.prefix+"short")
	begun := time.Now() // before it is written, so that a slow machine does not look like an early expiry
	synctest.Test(c.T, c.behind)
	if _, found, ok := c.value(s, c.prefix+"behind"); ok && !found && time.Since(begun) < storeTTL-storeEarly {
		c.Errorf("a value of a replica whose clock is behind has expired at once, want %v", storeTTL)
	}
	c.expires(s, c.prefix+"behind")
}

// behind runs as a replica whose clock shows the year 2000.
func (c *faultCheck) behind(t *testing.T) {
	s, _, _ := c.engine.Open(t)
	for key, want := range map[string]bool{"short": false, "long": true} {
		if _, found, err := s.Get(t.Context(), c.prefix+key); err != nil || found != want {
			t.Errorf("Get of the %s value with a clock that is behind: got %v, %v, want %v", key, found, err, want)
		}
	}
	if keys, err := s.List(t.Context(), c.prefix, "", 10); err != nil || len(keys) != 1 {
		t.Errorf("List with a clock that is behind: got %q, %v, want the long value", keys, err)
	}
	if created, err := s.Create(t.Context(), c.prefix+"short", nil, storeTTL); err != nil || !created {
		t.Errorf("Create of an expired value with a clock that is behind: got %v, %v, want true", created, err)
	}
	if err := s.Put(t.Context(), c.prefix+"behind", []byte("value"), storeTTL); err != nil {
		t.Errorf("Put with a clock that is behind: %v", err)
	}
}
