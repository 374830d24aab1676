package skills

import (
	"encoding/base64"
	"sort"

	"github.com/fondaco/fondaco/mcp"
)

// pageOf returns the page that a cursor names of items in the order of their
// keys. The cursor holds the last key of the page before, so that a change between
// two pages repeats and loses nothing that did not change.
func pageOf[Item any](items []Item, key func(Item) string, cursor *string, size int) (page []Item, next *string, err error) {
	if cursor != nil {
		last, err := base64.RawURLEncoding.DecodeString(*cursor)
		if err != nil {
			return nil, nil, mcp.Errorf(mcp.CodeInvalidParams, "cursor: want the nextCursor of a page before, or none")
		}
		items = items[sort.Search(len(items), func(i int) bool { return key(items[i]) > string(last) }):]
	}
	if len(items) > size {
		items = items[:size]
		next = new(base64.RawURLEncoding.EncodeToString([]byte(key(items[size-1]))))
	}
	return items, next, nil
}
