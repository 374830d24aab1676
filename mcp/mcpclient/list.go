package mcpclient

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"

	"github.com/fondaco/fondaco/mcp"
)

// list returns the items of all pages of one list. Cursors are opaque: an empty
// one is a cursor, and only its absence ends the list.
//
// Spec: 2026-07-28 server/utilities/pagination
func list[Page, Item any](
	ctx context.Context, c *Client, method string,
	offers func(mcp.ServerCapabilities) bool, opts []CallOption,
	read func(*Page) (items []Item, next *string),
) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if !offers(c.Capabilities()) {
			return
		}
		var none Item
		loop := loopGuard{most: c.opts.maxPages()}
		for cursor := (*string)(nil); ; {
			page, err := ask[Page](ctx, c, method, &mcp.ListParams{Cursor: cursor}, opts)
			if err != nil {
				yield(none, fmt.Errorf("%s: %w", method, err))
				return
			}
			items, next := read(page)
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == nil {
				return
			}
			if err := loop.check(*next); err != nil {
				yield(none, fmt.Errorf("%s: %w", method, err))
				return
			}
			cursor = next
		}
	}
}

// loopGuard notices a list without end.
type loopGuard struct {
	most int
	seen map[[sha256.Size]byte]bool // cursors
}

func (g *loopGuard) check(cursor string) error {
	key := sha256.Sum256([]byte(cursor))
	if g.seen[key] {
		return fmt.Errorf("the server named cursor %.32q twice: want each page once", cursor)
	}
	if g.seen == nil {
		g.seen = make(map[[sha256.Size]byte]bool)
	}
	g.seen[key] = true
	if g.most > 0 && len(g.seen) >= g.most {
		return fmt.Errorf("more than %d pages", g.most)
	}
	return nil
}
