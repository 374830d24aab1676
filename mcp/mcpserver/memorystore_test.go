package mcpserver_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestMemoryStoreIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &mcpserver.MemoryStore{MaxBytes: 10_000}
		large, small := make([]byte, 5_000), make([]byte, 1<<10)
		put := func(key string, value []byte, refused string) {
			t.Helper()
			err := s.Put(t.Context(), key, value, time.Minute)
			if (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
				t.Errorf("%s: got %v, want %q", key, err, refused)
			}
		}
		const full = "store: 10000 bytes of 10000 are taken, and 5000 more are wanted; want MemoryStore.MaxBytes"
		put("a", large, "")
		put("b", large, "")
		put("c", large, full)
		put("b", large, "") // in place of itself
		put("c", small, "") // bounded by number alone
		put("c", large, full)
		if swapped, err := s.Swap(t.Context(), "c", small, large, 0); swapped || err == nil {
			t.Errorf("swap: got %t, %v, want it refused", swapped, err)
		}
		if value, found, _ := s.Get(t.Context(), "c"); !found || len(value) != len(small) {
			t.Errorf("got %d bytes, want what was there before", len(value))
		}
		put("a", small, "") // makes room
		put("c", large, "")
		if err := s.Delete(t.Context(), "b"); err != nil {
			t.Error(err)
		}
		put("d", large, "")
		put("e", large, full)
		time.Sleep(time.Minute) // all has expired
		put("e", large, "")
		put("f", large, "")
	})
}
