package mcpserver

import (
	"encoding/base64"
	"sort"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// listing is how one kind of feature is put on a page.
type listing struct {
	kind kind
	// result makes the list result of one page.
	result func(page []feature, next *string, hints mcp.Caching) any
}

// list answers a list request with one page, encoded once per snapshot, view,
// revision and place, and copied from then on.
func (s *Server) list(r *Request, l listing) (any, error) {
	var params mcp.ListParams
	if err := r.Decode(&params); err != nil {
		return nil, err
	}
	snap := s.features.snapshot()
	if !snap.offers(l.kind) {
		return nil, undeclared(r.Method)
	}
	c := &snap.catalogs[l.kind]
	start, err := c.startOf(l.kind, params.Cursor)
	if err != nil {
		return nil, err
	}
	hidden, view := c.view(r.Identity())
	at := place{r.call.Facts, l.kind, start, view}
	if page := snap.pages.get(at); page != nil {
		return page, nil
	}
	page, next := c.page(l.kind, start, hidden, s.options.pageSize())
	encoded, err := r.call.Facts.Encode(l.result(page, next, s.options.cacheFor(r.Method).hints(len(c.restricted) > 0 || len(s.middleware.scopes(r.Method)) > 0)))
	if err != nil {
		return nil, err
	}
	snap.pages.put(at, encoded)
	return encoded, nil
}

// undeclared is the error for methods of a kind of feature that the server does
// not have.
func undeclared(method string) error {
	return mcp.Errorf(mcp.CodeMethodNotFound, "method %q: this server has none of that", method)
}

// page returns the features of one page from the given place on, without the
// hidden ones, and the cursor of the next page when there is one.
func (c *catalog) page(k kind, start int, hidden map[feature]bool, size int) (page []feature, next *string) {
	for i := start; i < len(c.order); i++ {
		if hidden[c.order[i]] {
			continue
		}
		if len(page) == size {
			return page, new(cursor(k, page[size-1].key()))
		}
		page = append(page, c.order[i])
	}
	return page, nil
}

// view returns the features that a caller may not know of, and a name for the set
// of them that is the same for all callers who see the same.
func (c *catalog) view(who *mcp.Identity) (hidden map[feature]bool, name string) {
	if len(c.restricted) == 0 {
		return nil, ""
	}
	hidden = make(map[feature]bool)
	var b strings.Builder
	for _, f := range c.restricted {
		if f.visibleTo(who) {
			b.WriteByte('1')
			continue
		}
		hidden[f] = true
		b.WriteByte('0')
	}
	return hidden, b.String()
}

// A cursor holds the kind and the last name of the page before, so that it
// survives restarts, and a change between two pages loses or repeats nothing
// that did not change. It is opaque to clients and needs no secrecy.
func cursor(k kind, last string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{'a' + byte(k)}, last...))
}

// startOf returns the place in the order at which the page of a cursor starts.
func (c *catalog) startOf(k kind, cur *string) (int, error) {
	if cur == nil {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(*cur)
	if err != nil || len(raw) < 2 || raw[0] != 'a'+byte(k) {
		return 0, mcp.Errorf(mcp.CodeInvalidParams, "cursor: not one of this list; want the nextCursor of a page before, or none")
	}
	last := string(raw[1:])
	return sort.Search(len(c.order), func(i int) bool { return c.order[i].key() > last }), nil
}

// maxPages bounds the encoded pages that one snapshot keeps. What does not fit
// is encoded anew at each request.
const maxPages = 256

// pageCache keeps encoded pages for the life of a snapshot.
type pageCache struct {
	mu    sync.RWMutex
	pages map[place]*dialect.Encoded
}

// place says which page it is.
type place struct {
	facts *dialect.Facts
	kind  kind
	start int
	view  string
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
	if len(c.pages) < maxPages {
		c.pages[at] = page
	}
}
