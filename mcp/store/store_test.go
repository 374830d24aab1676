package store_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/mcp/store"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

func key(id string) mcpserver.Key {
	return mcpserver.Key{ID: id, Secret: bytes.Repeat([]byte(id[:1]), 32)}
}

func sealed(t *testing.T, s mcp.Store, ids ...string) mcp.Store {
	t.Helper()
	var keys []mcpserver.Key
	for _, id := range ids {
		keys = append(keys, key(id))
	}
	wrapped, err := store.Sealed(s, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return wrapped
}

func TestWrappersPassTheirCheck(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(t *testing.T, s mcp.Store) mcp.Store{
		"sealed":   func(t *testing.T, s mcp.Store) mcp.Store { return sealed(t, s, "a") },
		"prefixed": func(_ *testing.T, s mcp.Store) mcp.Store { return store.Prefixed(s, "app/") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mcptest.CheckStore(t, func(t *testing.T) (one, two mcp.Store) {
				s := new(mcpserver.MemoryStore)
				return wrap(t, s), wrap(t, s)
			})
		})
	}
}

func TestValuesAreEncryptedAndBoundToTheirKey(t *testing.T) {
	t.Parallel()
	inner := new(mcpserver.MemoryStore)
	s := sealed(t, inner, "a")
	if err := s.Put(t.Context(), "key", []byte("the secret"), 0); err != nil {
		t.Fatal(err)
	}
	text, _, err := inner.Get(t.Context(), "key")
	if err != nil || bytes.Contains(text, []byte("secret")) {
		t.Fatalf("got %q, %v, want no plaintext", text, err)
	}
	changed := bytes.Clone(text)
	changed[len(changed)-1] ^= 1
	for name, put := range map[string]struct {
		key  string
		text []byte
	}{
		"moved":    {"other", text},
		"changed":  {"key", changed},
		"not ours": {"key", []byte("the secret")},
		"empty":    {"key", nil},
	} {
		if err := inner.Put(t.Context(), put.key, put.text, 0); err != nil {
			t.Fatal(err)
		}
		if value, found, err := s.Get(t.Context(), put.key); err == nil || found || value != nil {
			t.Errorf("Get of a value that is %s: got %q, %v, %v, want an error", name, value, found, err)
		}
		if swapped, err := s.Swap(t.Context(), put.key, []byte("the secret"), nil, 0); err == nil || swapped {
			t.Errorf("Swap of a value that is %s: got %v, %v, want an error", name, swapped, err)
		}
	}
}

func TestValuesAreBoundToThePrefixOfTheirKey(t *testing.T) {
	t.Parallel()
	inner := new(mcpserver.MemoryStore)
	app := store.Prefixed(inner, "app/")
	orders, carts := sealed(t, store.Prefixed(app, "orders/"), "a"), sealed(t, store.Prefixed(app, "carts/"), "a")
	if err := orders.Put(t.Context(), "key", []byte("value"), 0); err != nil {
		t.Fatal(err)
	}
	text, _, err := inner.Get(t.Context(), "app/orders/key")
	if err != nil {
		t.Fatal(err)
	}
	if err := inner.Put(t.Context(), "app/carts/key", text, 0); err != nil {
		t.Fatal(err)
	}
	if value, found, err := carts.Get(t.Context(), "key"); err == nil || found {
		t.Errorf("Get of a value that was moved to another prefix: got %q, %v, %v, want an error", value, found, err)
	}
	whole := sealed(t, inner, "a")
	if value, _, err := whole.Get(t.Context(), "app/orders/key"); err != nil || string(value) != "value" {
		t.Errorf("Get by the whole key: got %q, %v, want the value", value, err)
	}
}

func TestKeysOfASealedStoreRotate(t *testing.T) {
	t.Parallel()
	inner := new(mcpserver.MemoryStore)
	before, both, after := sealed(t, inner, "a"), sealed(t, inner, "b", "a"), sealed(t, inner, "b")
	if err := before.Put(t.Context(), "key", []byte("value"), 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := after.Get(t.Context(), "key"); err == nil {
		t.Error("without the old key: got no error")
	}
	if swapped, err := both.Swap(t.Context(), "key", []byte("value"), []byte("value"), 0); err != nil || !swapped {
		t.Errorf("Swap with both keys: got %v, %v, want true", swapped, err)
	}
	if value, _, err := after.Get(t.Context(), "key"); err != nil || string(value) != "value" {
		t.Errorf("after it was written again: got %q, %v, want the value", value, err)
	}
}

func TestSealedNeedsValidKeys(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]mcpserver.Key{
		"none":      nil,
		"short":     {{ID: "a", Secret: []byte("short")}},
		"duplicate": {key("a"), key("a")},
	} {
		if _, err := store.Sealed(new(mcpserver.MemoryStore), keys...); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestPrefixesAreSeparate(t *testing.T) {
	t.Parallel()
	inner := new(mcpserver.MemoryStore)
	a, b := store.Prefixed(inner, "a/"), store.Prefixed(inner, "b/")
	for _, k := range []string{"a", "a/", "a0", "a/x", "a/y", "b/x"} {
		if err := inner.Put(t.Context(), k, []byte(k), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		s             mcp.Store
		prefix, after string
		want          []string
	}{
		{a, "", "", []string{"x", "y"}},
		{a, "", "x", []string{"y"}},
		{a, "y", "", []string{"y"}},
		{b, "", "", []string{"x"}},
	} {
		if got, err := tt.s.List(t.Context(), tt.prefix, tt.after, 10); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("List of %q after %q: got %q, %v, want %q", tt.prefix, tt.after, got, err, tt.want)
		}
	}
	if err := a.Delete(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if value, found, err := b.Get(t.Context(), "x"); err != nil || !found || string(value) != "b/x" {
		t.Errorf("got %q, %v, %v, want the value of the other prefix", value, found, err)
	}
	if _, _, err := a.Get(t.Context(), ""); err == nil {
		t.Error("Get of no key: got no error")
	}
	if err := a.Delete(t.Context(), ""); err == nil {
		t.Error("Delete of no key: got no error")
	}
}

func TestPrefixHasToBeValid(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "a\n", "\u00e4", strings.Repeat("p", 129)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("prefix %q: got no panic", prefix)
				}
			}()
			store.Prefixed(new(mcpserver.MemoryStore), prefix)
		}()
	}
}
