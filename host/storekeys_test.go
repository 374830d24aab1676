package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestAllKeysOfAPrefixAreListedOnce(t *testing.T) {
	t.Parallel()
	store := new(mcpserver.MemoryStore)
	for _, count := range []int{0, 1, 1023, 1024, 1025, 2048} {
		prefix := fmt.Sprintf("%d/", count)
		var want, got []string
		for i := range count {
			key := fmt.Sprintf("%s%04d", prefix, i)
			want = append(want, key)
			if err := store.Put(t.Context(), key, []byte("x"), 0); err != nil {
				t.Fatal(err)
			}
		}
		for key, err := range host.StoreKeys(t.Context(), store, prefix) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, key)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d keys: got %d", count, len(got))
		}
	}
	for range host.StoreKeys(t.Context(), store, "2048/") {
		break
	}
}

type failingList struct{ mcp.Store }

func (failingList) List(context.Context, string, string, int) ([]string, error) {
	return nil, errors.New("cannot be read")
}

func TestErrorOfAListOfKeysIsTheLast(t *testing.T) {
	t.Parallel()
	count := 0
	for key, err := range host.StoreKeys(t.Context(), failingList{}, "") {
		if count++; err == nil || key != "" || count > 1 {
			t.Errorf("got %q, %v, want one error", key, err)
		}
	}
}
