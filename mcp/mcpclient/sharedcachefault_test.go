package mcpclient_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestFailingStoreFailsNoRequest(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"error": func(context.Context) error { return errors.New("no space") },
		"panic": func(context.Context) error { panic("a bug") },
		"silent": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, target := serve(t, stateless(counting(aMinute)))
				store := new(failingStore)
				c := connect(t, target, sharing(store))
				store.fail.Store(&fail)
				began := time.Now()
				if got := read(t, c, "a://1"); got != "1" {
					t.Errorf("got %q, want the result of the server", got)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("took %v, want a second at most", took)
				}
				calls := store.calls.Load()
				if got := read(t, c, "a://1"); got != "2" || store.calls.Load() != calls {
					t.Errorf("got %q and %d calls of the store, want a pause", got, store.calls.Load()-calls)
				}
				store.fail.Store(nil)
				time.Sleep(5 * time.Second)
				if got := read(t, c, "a://1") + read(t, c, "a://1"); got != "33" {
					t.Errorf("after the failure: got %q, want the cache to work again", got)
				}
			})
		})
	}
}

// The other client has to see the change once the store works again.
func TestChangeDuringAFailureOfTheStoreIsWrittenLater(t *testing.T) {
	claim.Shows(t, "R-270")
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, stateless(counting(`,"ttlMs":3600000,"cacheScope":"private"`)))
		store := new(failingStore)
		one, two := connect(t, target, sharing(store)), connect(t, target, sharing(store))
		read(t, one, "a://1")
		fail := func(context.Context) error { return errors.New("no connection") }
		store.fail.Store(&fail)
		servers.nth(0).send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://1"}}`)
		time.Sleep(time.Minute)
		store.fail.Store(nil)
		time.Sleep(6 * time.Second)
		read(t, two, "a://1")
		if got := len(servers.nth(1).messages(mcp.MethodResourcesRead)); got != 1 {
			t.Errorf("the other client sent %d requests, want 1", got)
		}
	})
}

func TestHostileContentOfTheStoreIsNotUsed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-267")
	for name, change := range map[string]func(key string, value []byte, all map[string][]byte) []byte{
		"changed": func(_ string, value []byte, _ map[string][]byte) []byte {
			value[len(value)-1] ^= 1
			return value
		},
		"empty": func(string, []byte, map[string][]byte) []byte { return nil },
		"plain": func(string, []byte, map[string][]byte) []byte {
			return []byte(`{"contents":[{"uri":"a://1","text":"evil"}]}`)
		},
		"large": func(string, []byte, map[string][]byte) []byte { return bytes.Repeat([]byte("x"), 1<<20) },
		"moved": func(key string, _ []byte, all map[string][]byte) []byte {
			for other, value := range all {
				if other != key && len(value) > 100 {
					return value
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, stateless(counting(aMinute)))
			store := new(mcpserver.MemoryStore)
			asked(t, connect(t, target, sharing(store)))
			all := make(map[string][]byte)
			for _, key := range keysOf(t, store) {
				all[key], _, _ = store.Get(t.Context(), key)
				if bytes.Contains(all[key], []byte("a://1")) {
					t.Errorf("the value of %s is not encrypted", key)
				}
			}
			for key, value := range all {
				if err := store.Put(t.Context(), key, change(key, bytes.Clone(value), all), 0); err != nil {
					t.Fatal(err)
				}
			}
			if got := asked(t, connect(t, target, sharing(store))); got != first || len(servers.nth(1).messages(mcp.MethodResourcesRead)) != 1 {
				t.Errorf("got %s and %d requests, want the results of the server", got, len(servers.nth(1).messages(mcp.MethodResourcesRead)))
			}
		})
	}
}

// Who can write to the store puts an old value in the place of the new one, with a time to live
// of its own.
func TestReplayedValueOfTheStoreExpiresByItself(t *testing.T) {
	claim.Shows(t, "R-268a")
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, stateless(counting(aMinute)))
		store := new(mcpserver.MemoryStore)
		c := connect(t, target, sharing(store))
		read(t, c, "a://1")
		for _, key := range keysOf(t, store) {
			value, _, _ := store.Get(t.Context(), key)
			if err := store.Put(t.Context(), key, value, 0); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if got := read(t, c, "a://1"); got != "2" {
			t.Errorf("got %s, want the result of a second request", got)
		}
		if got := len(servers.nth(0).messages(mcp.MethodResourcesRead)); got != 2 {
			t.Errorf("got %d requests, want 2", got)
		}
	})
}

// A value that was deleted does not bring back the results from before a change.
func TestDeletedGenerationBringsBackNothing(t *testing.T) {
	claim.Shows(t, "R-270")
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, stateless(counting(aMinute)))
		store := new(mcpserver.MemoryStore)
		c := connect(t, target, sharing(store))
		read(t, c, "a://1")
		servers.nth(0).send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://1"}}`)
		synctest.Wait()
		for _, key := range keysOf(t, store) {
			if value, _, _ := store.Get(t.Context(), key); len(value) < 100 {
				if err := store.Delete(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := read(t, c, "a://1"); got != "2" {
			t.Errorf("got %s, want the result of a second request", got)
		}
	})
}
