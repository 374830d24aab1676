package mcpclient

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"

	"github.com/fondaco/fondaco/mcp"
)

// list returns the items of all pages of one list. Cursors are opaque: an empty
// one is a cursor, and only its absence ends the list.
//
// Spec: 2026-07-28 server/utilities/pagination
func list[Page, Item any](
	ctx context.Context, c *Client, method string,
	offers func(mcp.ServerCapabilities) bool, opts []CallOption,
	read func(*Page) (items []Item, next *string), name func(Item) string,
) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if !offers(c.Capabilities()) {
			return
		}
		var none Item
		var again listRestart
		opts := append(slices.Clip(opts), reportHit(&again.cachedPage))
		loop := loopGuard{maxPages: c.opts.maxPages()}
		for cursor := (*string)(nil); ; {
			kept := again.cachedPage
			page, err := request[Page](ctx, c, method, &mcp.ListParams{Cursor: cursor}, opts)
			if kept && again.restartsAfter(err) {
				c.cache.invalidate(method)
				loop = loopGuard{maxPages: c.opts.maxPages()}
				cursor = nil
				continue
			}
			if err != nil {
				yield(none, fmt.Errorf("%s: %w", method, err))
				return
			}
			items, next := read(page)
			for _, item := range items {
				if again.first(name(item)) && !yield(item, nil) {
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

// listRestart begins a list once more from the start when a page that was kept names
// a cursor that the server knows no more. Items are not yielded twice.
//
// Spec: 2026-07-28 server/utilities/caching#pagination
type listRestart struct {
	cachedPage bool // the page at hand was a kept one
	done       bool
	yielded    map[string]bool // by name
}

// restartsAfter reports whether to begin once more after err, and only once.
func (r *listRestart) restartsAfter(err error) bool {
	if r.done || mcp.CodeOf(err) != mcp.CodeInvalidParams {
		return false
	}
	r.done = true
	return true
}

// first reports whether the item has not been yielded yet.
func (r *listRestart) first(name string) bool {
	if r.done && r.yielded[name] {
		return false
	}
	if r.yielded == nil {
		r.yielded = make(map[string]bool)
	}
	r.yielded[name] = true
	return true
}

// loopGuard notices a list without end.
type loopGuard struct {
	maxPages int
	seen     map[[sha256.Size]byte]bool // cursors
}

func (g *loopGuard) check(cursor string) error {
	key := sha256.Sum256([]byte(cursor))
	if g.seen[key] {
		return &ProtocolError{Err: fmt.Errorf("the server named cursor %.32q twice: want each page once", cursor)}
	}
	if g.seen == nil {
		g.seen = make(map[[sha256.Size]byte]bool)
	}
	g.seen[key] = true
	if g.maxPages > 0 && len(g.seen) >= g.maxPages {
		return &ProtocolError{Err: fmt.Errorf("more than %d pages", g.maxPages)}
	}
	return nil
}
