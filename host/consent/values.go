package consent

import (
	"context"
	"iter"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// values returns the values of all keys with a prefix, in the order of the keys. It ends with
// the first error.
func values(ctx context.Context, store mcp.Store, prefix string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for key, err := range host.StoreKeys(ctx, store, prefix) {
			if err != nil {
				yield(nil, err)
				return
			}
			value, found, err := store.Get(ctx, key)
			if err != nil {
				yield(nil, err)
				return
			}
			if found && !yield(value, nil) {
				return
			}
		}
	}
}
