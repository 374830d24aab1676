package mcpserver_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

// TestFullMemoryStoreRefusesAtOnce writes to a full store. A scan at each write
// would take minutes.
func TestFullMemoryStoreRefusesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const entries, refused = 100_000, 100_000
		s := new(mcpserver.MemoryStore)
		for i := range entries {
			if err := s.Put(t.Context(), fmt.Sprint(i), nil, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		for i := range refused {
			made, err := s.Create(t.Context(), fmt.Sprint("new", i), nil, time.Hour)
			if made || err == nil || !strings.Contains(err.Error(), "store: 100000 entries, which is the limit") {
				t.Fatalf("got %t, %v, want it refused", made, err)
			}
		}
		if err := s.Put(t.Context(), "7", []byte("x"), time.Minute); err != nil {
			t.Errorf("in place of another: %v", err)
		}
		time.Sleep(time.Minute)
		if made, err := s.Create(t.Context(), "new", nil, 0); !made || err != nil {
			t.Errorf("when one has expired: got %t, %v", made, err)
		}
	})
}

// TestMemoryStoreDeletesExpiredEntries compares a store with a plain map.
func TestMemoryStoreDeletesExpiredEntries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		s, expires := new(mcpserver.MemoryStore), make(map[string]time.Time)
		for range 5000 {
			key := fmt.Sprint(random.IntN(50))
			switch random.IntN(4) {
			case 0:
				if err := s.Delete(t.Context(), key); err != nil {
					t.Fatal(err)
				}
				delete(expires, key)
			case 1:
				time.Sleep(time.Duration(random.IntN(10)) * time.Second)
			default:
				ttl := time.Duration(1+random.IntN(60)) * time.Second
				if err := s.Put(t.Context(), key, []byte(key), ttl); err != nil {
					t.Fatal(err)
				}
				expires[key] = time.Now().Add(ttl)
			}
			value, found, _ := s.Get(t.Context(), key)
			if want := time.Now().Before(expires[key]); found != want || found && string(value) != key {
				t.Fatalf("%s: got %q, %t, want %t", key, value, found, want)
			}
		}
	})
}

func TestSingleUseMarkersTakeNoRoomFromOtherEntries(t *testing.T) {
	t.Parallel()
	s := new(mcpserver.MemoryStore)
	full := false
	for i := range 200_000 {
		if _, err := s.Create(t.Context(), fmt.Sprint("ask.used.", i), nil, time.Minute); err != nil {
			full = true
			break
		}
	}
	if !full {
		t.Error("marks have no bound")
	}
	if err := s.Put(t.Context(), "task.1", []byte("{}"), time.Minute); err != nil {
		t.Errorf("a task: got %v, want room for it", err)
	}
}

func TestMemoryStoreListsKeysInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s mcpserver.MemoryStore
		for _, key := range []string{"a/2", "b/1", "a/10", "a/1", "a"} {
			if err := s.Put(t.Context(), key, nil, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Put(t.Context(), "a/15", nil, time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for _, test := range []struct {
			prefix, after string
			limit         int
			want          []string
		}{
			{"a/", "", 9, []string{"a/1", "a/10", "a/2"}},
			{"a/", "", 2, []string{"a/1", "a/10"}},
			{"a/", "a/10", 2, []string{"a/2"}},
			{"", "a/2", 9, []string{"b/1"}},
			{"c", "", 9, nil},
			{"", "", 0, nil},
			{"", "", -1, nil},
		} {
			got, err := s.List(t.Context(), test.prefix, test.after, test.limit)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%q after %q: got %q, %v, want %q", test.prefix, test.after, got, err, test.want)
			}
		}
	})
}
