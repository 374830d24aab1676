package host

import (
	"context"
	"iter"

	"github.com/fondaco/fondaco/mcp"
)

// storePage is the number of keys that are listed at once. The store of a host reads a whole
// section for each page, so that few sections have more than one.
const storePage = 1024

// StoreKeys returns all keys of a store with a prefix, in their order. It ends with the first
// error. Keys that are created or deleted meanwhile may be missing or be there.
func StoreKeys(ctx context.Context, store mcp.Store, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for after := ""; ; {
			keys, err := store.List(ctx, prefix, after, storePage)
			if err != nil {
				yield("", err)
				return
			}
			for _, key := range keys {
				if !yield(key, nil) {
					return
				}
			}
			if len(keys) < storePage {
				return
			}
			after = keys[len(keys)-1]
		}
	}
}
