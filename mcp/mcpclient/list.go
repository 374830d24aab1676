package mcpclient

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// list iterates over the items of all pages of one list. Cursors are opaque: the empty
// string is a cursor, and only a missing cursor ends the list. A list that would not end otherwise
// ends with what was read, and is logged, see loopGuard. An item that was on an earlier page is not
// yielded again.
//
// Spec: 2026-07-28 server/utilities/pagination
func list[Page, Item any](
	ctx context.Context, c *Client, method string,
	offers func(mcp.ServerCapabilities) bool, opts []CallOption,
	read func(page *Page, receivedAt time.Time) (items []Item, next *string), name func(Item) string,
) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		declared := offers(c.Capabilities())
		if !declared && !c.mayOfferUndeclared(method) {
			return
		}
		var none Item
		var restart listRestart
		opts := append(slices.Clip(opts), reportHit(&restart.cachedAt))
		loop := loopGuard{maxPages: c.opts.maxPages()}
		for cursor := (*string)(nil); ; {
			cursorCached := !restart.cachedAt.IsZero()
			ctx, requested := c.undeclaredContext(ctx, method, declared || cursor != nil)
			page, err := request[Page](ctx, c, method, &mcp.ListParams{Cursor: cursor}, opts)
			requested()
			if cursorCached && restart.shouldRestart(err) {
				c.cache.Invalidate(method)
				loop = loopGuard{maxPages: c.opts.maxPages()}
				cursor = nil
				continue
			}
			if !declared && (answered(err) || errors.Is(err, errUndeclaredSilent)) {
				return
			}
			atEnd := cursor != nil && *cursor == "" // some servers end a list so: there is no such page
			if answered(err) && atEnd {
				return
			}
			if err != nil {
				yield(none, fmt.Errorf("%s: %w", method, err))
				return
			}
			receivedAt := restart.cachedAt
			if receivedAt.IsZero() {
				receivedAt = time.Now()
			}
			items, next := read(page, receivedAt)
			names := make([]string, 0, len(items))
			for _, item := range items {
				n := name(item)
				if n == "" {
					continue
				}
				names = append(names, n)
				if !restart.yielded[n] && !yield(item, nil) {
					return
				}
			}
			if nameless := len(items) - len(names); nameless > 0 {
				c.opts.logger().Warn("left out of a list what has no name or URI", "server", c.target.String(), "method", method, "count", nameless)
			}
			if next == nil {
				return
			}
			restart.add(names)
			if err := loop.check(*next, names); err != nil {
				if !atEnd {
					c.opts.logger().Warn("list of the server ended early", "server", c.target.String(), "method", method, "error", err)
				}
				return
			}
			cursor = next
		}
	}
}

// mayOfferUndeclared reports whether to request a list whose capability the server does not
// declare, because the program asks for that list: the client itself, which needs the tools for
// the output schemas, does not. Some servers of the session era declare nothing at all, or
// have tools that they do not declare. Their error then means that there is no such list.
func (c *Client) mayOfferUndeclared(method string) bool {
	if f := dialect.Of(c.Revision()); f == nil || f.Era != dialect.SessionEra {
		return false
	}
	if method == mcp.MethodToolsList {
		return true
	}
	s := c.Capabilities()
	return s.Tools == nil && s.Prompts == nil && s.Resources == nil && !c.lastConnection().ignoresUndeclared.Load()
}

// errUndeclaredSilent: the server did not answer the request for a list that it does not
// declare, as some do not answer methods that they do not know.
var errUndeclaredSilent = errors.New("no response to a list that the server does not declare")

// undeclaredContext returns the context for the request of a page of a list, and what to call
// after it. If the server has not declared the list, nor answered a request for it, the request
// has as long as the probe, except for tools, which nearly every server has. After a request
// without a response the connection gets no other of this kind.
func (c *Client) undeclaredContext(ctx context.Context, method string, known bool) (_ context.Context, requested func()) {
	if known || method == mcp.MethodToolsList {
		return ctx, func() {}
	}
	k, timeout := c.lastConnection(), c.probeTimeout(connProbeTimeout)
	if k.http {
		timeout = c.probeTimeout(httpProbeTimeout)
	}
	ctx, cancel := exchange.WithTimeout(ctx, timeout, errUndeclaredSilent)
	return ctx, func() {
		if errors.Is(context.Cause(ctx), errUndeclaredSilent) {
			k.ignoresUndeclared.Store(true)
		}
		cancel()
	}
}

// listRestart decides whether to list again from the first page. That happens once, when
// the server does not know the cursor of a cached page any more. Items are not yielded
// twice.
//
// Spec: 2026-07-28 server/utilities/caching#pagination
type listRestart struct {
	cachedAt time.Time // when the last page was received, if it came from the cache
	done     bool
	yielded  map[string]bool // by name: items of the pages before
}

// shouldRestart reports whether to start again after err, at most once.
func (r *listRestart) shouldRestart(err error) bool {
	if r.done || mcp.CodeOf(err) != mcp.CodeInvalidParams {
		return false
	}
	r.done = true
	return true
}

// add adds the names of the items of a page.
func (r *listRestart) add(names []string) {
	if r.yielded == nil {
		r.yielded = make(map[string]bool, len(names))
	}
	for _, name := range names {
		r.yielded[name] = true
	}
}

// maxEmptyPages bounds the pages without an item that follow each other. A server may leave out all
// items of a page.
const maxEmptyPages = 16

// loopGuard detects a list without an end: a cursor comes again, all items of a page were on earlier
// ones, or there are too many pages.
type loopGuard struct {
	maxPages int
	seen     map[[sha256.Size]byte]bool // hashes of cursors
	names    map[string]bool            // of items
	empty    int                        // pages without an item, in a row
}

// check returns why not to request the page of the cursor, which came with the items of those names.
func (g *loopGuard) check(cursor string, names []string) error {
	key := sha256.Sum256([]byte(cursor))
	switch {
	case g.seen[key]:
		return fmt.Errorf("the server returned cursor %.32q twice, want each page once", cursor)
	case len(names) == 0 && g.empty+1 == maxEmptyPages:
		return fmt.Errorf("the server returned %d pages without an item", maxEmptyPages)
	case len(names) > 0 && !g.addNames(names):
		return errors.New("the server returned a page without a new item")
	}
	if g.seen == nil {
		g.seen = make(map[[sha256.Size]byte]bool)
	}
	g.seen[key] = true
	if g.empty++; len(names) > 0 {
		g.empty = 0
	}
	if g.maxPages > 0 && len(g.seen) >= g.maxPages {
		return fmt.Errorf("found more than %d pages, which is the limit of the client", g.maxPages)
	}
	return nil
}

// addNames adds the names of a page and reports whether one of them is new.
func (g *loopGuard) addNames(names []string) (added bool) {
	if g.names == nil {
		g.names = make(map[string]bool, len(names))
	}
	for _, name := range names {
		added = added || !g.names[name]
		g.names[name] = true
	}
	return added
}
