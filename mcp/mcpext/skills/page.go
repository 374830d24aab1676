package skills

import (
	"encoding/base64"
	"sort"

	"github.com/fondaco/fondaco/mcp"
)

// pageOf returns the page of a cursor. The items are in the order of their keys. A cursor
// is the last key of the previous page, so that a change between two pages neither repeats
// nor skips items that did not change.
func pageOf[Item any](items []Item, key func(Item) string, cursor *string, size int) (page []Item, next *string, err error) {
	if cursor != nil {
		last, err := base64.RawURLEncoding.DecodeString(*cursor)
		if err != nil {
			return nil, nil, mcp.Errorf(mcp.CodeInvalidParams, "cursor: want the nextCursor of an earlier page, or none")
		}
		items = items[sort.Search(len(items), func(i int) bool { return key(items[i]) > string(last) }):]
	}
	if len(items) > size {
		items = items[:size]
		next = new(base64.RawURLEncoding.EncodeToString([]byte(key(items[size-1]))))
	}
	return items, next, nil
}
