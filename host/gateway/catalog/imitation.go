package catalog

import (
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/host"
)

const (
	// maxImitationResults limits the recent results that are remembered for one upstream, and the
	// older ones. When it is reached, the recent results become the older ones, and the older ones
	// are forgotten. A result takes about 50 bytes, whatever the size of its text.
	maxImitationResults = 8192
	// minRememberedText is the minimum size of a text whose result is remembered, in bytes. To search
	// a shorter one takes microseconds.
	minRememberedText = 128
)

// imitations remembers which texts of an upstream imitate another one. A search takes milliseconds
// for a long text, and the same texts come again with each change of a list. A merge, for which
// other upstreams wait, does not search: findImitations has searched the catalog before.
type imitations struct {
	mu       sync.Mutex
	others   []string                   // guarded by mu: the keys of the results
	recent   map[imitationDigest]string // guarded by mu: key of the other upstream, or ""
	older    map[imitationDigest]string // guarded by mu: what recent was before it was full
	catalogs [2]catalogImitations       // guarded by mu: of the last catalogs, newest first
}

// imitationDigest identifies a text, and says whether it was searched as a title.
type imitationDigest [sha256.Size]byte

func digestOf(text string, title bool) imitationDigest {
	if title {
		return sha256.Sum256([]byte("title " + text))
	}
	return sha256.Sum256([]byte("text " + text))
}

// catalogImitations are the texts of a catalog that imitate another upstream.
type catalogImitations struct {
	catalog *Catalog
	others  []string // the keys of the other upstreams
	found   map[imitationText]string
}

type imitationText struct {
	text  string
	title bool
}

// of is an imitationLookup. It does not search.
func (c *catalogImitations) of(text string, title bool) (key string) {
	return c.found[imitationText{text, title}]
}

// imitationLookup returns the key of the upstream that a text imitates, or "".
type imitationLookup func(text string, title bool) (key string)

// searchFor returns a lookup that searches a text unless the result is remembered.
func (i *imitations) searchFor(others []string) imitationLookup {
	return func(text string, title bool) (key string) {
		if len(text) < minRememberedText {
			return searchImitation(text, title, others)
		}
		at := digestOf(text, title)
		key, known := i.remembered(at, others)
		if !known {
			key = searchImitation(text, title, others)
			i.remember(at, others, key)
		}
		return key
	}
}

func searchImitation(text string, title bool, others []string) (key string) {
	if title {
		return host.ImitatedTitle(text, others)
	}
	return host.Imitated(text, others)
}

func (i *imitations) remembered(at imitationDigest, others []string) (key string, known bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !slices.Equal(i.others, others) {
		return "", false
	}
	if key, known = i.recent[at]; known {
		return key, true
	}
	if key, known = i.older[at]; known {
		i.rememberLocked(at, key)
	}
	return key, known
}

func (i *imitations) remember(at imitationDigest, others []string, key string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !slices.Equal(i.others, others) {
		i.others, i.recent, i.older = others, nil, nil
	}
	i.rememberLocked(at, key)
}

// rememberLocked adds a result to the recent ones. The caller holds mu.
func (i *imitations) rememberLocked(at imitationDigest, key string) {
	if i.recent == nil || len(i.recent) == maxImitationResults {
		i.recent, i.older = make(map[imitationDigest]string), i.recent
	}
	i.recent[at] = key
}

// catalogResults returns the texts of a catalog that imitate one of the others. It reports false if
// findImitations has not searched that catalog.
func (i *imitations) catalogResults(cat *Catalog, others []string) (catalogImitations, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, c := range i.catalogs {
		if c.catalog == cat && slices.Equal(c.others, others) {
			return c, true
		}
	}
	return catalogImitations{}, false
}

// addCatalog adds the results of a catalog in place of the older ones.
func (i *imitations) addCatalog(c catalogImitations) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.catalogs = [2]catalogImitations{c, i.catalogs[0]}
}

// forgetCatalog forgets the results of a catalog that was replaced.
func (i *imitations) forgetCatalog(replaced *Catalog) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for at := range i.catalogs {
		if i.catalogs[at].catalog == replaced {
			i.catalogs[at] = catalogImitations{}
		}
	}
}
