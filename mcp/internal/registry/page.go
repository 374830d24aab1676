package registry

import (
	"encoding/base64"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// PageParams identify the requested page of a list and the caller.
type PageParams struct {
	Kind   Kind
	Cursor *string // nil: the first page
	Who    *mcp.Identity
	Facts  *dialect.Facts // of the revision to encode for
	Size   int            // features on a page, whose definitions have at most MaxPageBytes
	After  string         // the cursor of the last page, if something follows that is no feature; or ""
	// More are further features that the caller may see, with distinct keys, in any order.
	// A feature of the snapshot that the caller may see takes precedence. Pages of lists
	// with further features are encoded for each request.
	More []Feature
}

// Page returns one encoded page of a list. result returns the list result for the features of
// the page and the cursor of the next page, which is nil on the last one; restricted says that
// the list may differ between callers. The encoded page is cached for all callers that see the
// same features. The error is an *mcp.Error for an invalid cursor, or one of encoding.
func (s *Snapshot) Page(p PageParams, result func(page []Feature, next *string, restricted bool) any) (*dialect.Encoded, error) {
	c := &s.catalogs[p.Kind]
	if len(p.More) > 0 {
		return c.with(p.More, p.Who).encodePage(p, result)
	}
	start, err := c.startOf(p.Kind, p.Cursor)
	if err != nil {
		return nil, err
	}
	hidden, view := c.view(p.Who)
	at := place{p.Facts, p.Kind, start, view, p.After}
	if page := s.pages.get(at); page != nil {
		return page, nil
	}
	page, next := c.page(p, start, hidden)
	encoded, err := p.Facts.Encode(result(page, next, len(c.restricted) > 0))
	if err != nil {
		return nil, err
	}
	s.pages.put(at, encoded)
	return encoded, nil
}

// with returns a catalog of the features that the caller may see and of further ones.
func (c *catalog) with(more []Feature, who *mcp.Identity) *catalog {
	hidden, _ := c.view(who)
	all := slices.DeleteFunc(slices.Clone(c.order), func(f Feature) bool { return hidden[f] })
	for _, f := range more {
		if known := c.byKey[f.Key()]; known == nil || hidden[known] {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, byKey)
	return &catalog{order: all}
}

// encodePage encodes the page of a catalog whose features the caller may all see.
func (c *catalog) encodePage(p PageParams, result func([]Feature, *string, bool) any) (*dialect.Encoded, error) {
	start, err := c.startOf(p.Kind, p.Cursor)
	if err != nil {
		return nil, err
	}
	page, next := c.page(p, start, nil)
	return p.Facts.Encode(result(page, next, true))
}

// page returns the features of the page that starts at the given index, without the hidden
// ones, and the cursor of the next page, or nil if there is none.
func (c *catalog) page(p PageParams, start int, hidden map[Feature]bool) (page []Feature, next *string) {
	size := 0
	for _, f := range c.order[start:] {
		if hidden[f] {
			continue
		}
		size += f.access().size
		if n := len(page); n == p.Size || n > 0 && size > MaxPageBytes {
			return page, new(cursor(p.Kind, page[n-1].Key()))
		}
		page = append(page, f)
	}
	if p.After != "" {
		next = &p.After
	}
	return page, next
}

// view returns the features that are hidden from a caller, and a name for that set. The name is
// the same for all callers that see the same features.
func (c *catalog) view(who *mcp.Identity) (hidden map[Feature]bool, name string) {
	if len(c.restricted) == 0 {
		return nil, ""
	}
	hidden = make(map[Feature]bool)
	var b strings.Builder
	for _, f := range c.restricted {
		if f.VisibleTo(who) {
			b.WriteByte('1')
			continue
		}
		hidden[f] = true
		b.WriteByte('0')
	}
	return hidden, b.String()
}

// cursor returns the cursor of the page after the feature of that key. It holds the kind
// and the key, so that it is valid after a restart, and a change between two pages
// neither loses nor repeats features that did not change. Cursors are opaque to clients
// and not secret.
func cursor(k Kind, last string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{'a' + byte(k)}, last...))
}

// startOf returns the index at which the page of a cursor starts.
func (c *catalog) startOf(k Kind, cur *string) (int, error) {
	if cur == nil {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(*cur)
	if err != nil || len(raw) < 2 || raw[0] != 'a'+byte(k) {
		return 0, mcp.Errorf(mcp.CodeInvalidParams, "cursor: not a cursor of this list; want the nextCursor of the previous page, or none")
	}
	last := string(raw[1:])
	return sort.Search(len(c.order), func(i int) bool { return c.order[i].Key() > last }), nil
}

// maxPages and maxCachedBytes limit the encoded pages that one snapshot keeps. Other pages are
// encoded for each request.
const (
	maxPages       = 256
	maxCachedBytes = 32 << 20
)

// pageCache keeps encoded pages for the life of a snapshot.
type pageCache struct {
	mu    sync.RWMutex
	pages map[place]*dialect.Encoded // guarded by mu
	bytes int                        // guarded by mu: of the pages
}

// place identifies one page.
type place struct {
	facts *dialect.Facts
	kind  Kind
	start int
	view  string
	after string
}

func (c *pageCache) get(at place) *dialect.Encoded {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.pages[at]
}

func (c *pageCache) put(at place, page *dialect.Encoded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages == nil {
		c.pages = make(map[place]*dialect.Encoded)
	}
	if c.pages[at] == nil && len(c.pages) < maxPages && c.bytes+page.Size() <= maxCachedBytes {
		c.pages[at] = page
		c.bytes += page.Size()
	}
}
