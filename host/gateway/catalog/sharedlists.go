package catalog

import (
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// sharedLists are the lists of an upstream that were read over its shared connection.
type sharedLists struct {
	mu            sync.Mutex // guards the fields below
	catalog       *Catalog   // never nil; a catalog is not changed after it was set
	read          bool       // at least once
	withdrawn     bool       // its features are not registered for now
	notRegistered []string   // features that could not be registered, and why
	visibleTools  []mcp.Tool // as clients see them
}

// replace replaces the catalog, and returns the one before. The generation of the new one says whether
// it lists others than that.
func (l *sharedLists) replace(now *Catalog) (before *Catalog) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = l.catalog
	now.generation = before.generation
	if !now.lists(before) || !l.read {
		now.generation++
	}
	l.catalog, l.read = now, true
	return before
}

// replaceFiltered replaces a catalog that was filtered again, and reports false if a newer one has
// replaced it, with definitions that were filtered, too.
func (l *sharedLists) replaceFiltered(before, now *Catalog) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.catalog != before {
		return false
	}
	l.catalog = now
	return true
}

// withdraw sets whether no features are registered for now, and reports whether that has changed.
func (l *sharedLists) withdraw(withdrawn bool) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed = l.withdrawn != withdrawn
	l.withdrawn = withdrawn
	return changed
}

// setRegistered stores which tools are registered after a merge, and which features are not.
func (l *sharedLists) setRegistered(tools []mcp.Tool, notRegistered []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notRegistered, l.visibleTools = notRegistered, tools
}

// omissions returns the texts about features that clients do not see.
func (l *sharedLists) omissions() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.catalog.errorTexts(), l.catalog.leftOut, l.notRegistered)
}

// Catalog returns the features that were listed last.
func (l *sharedLists) Catalog() *Catalog {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.catalog
}

// IsRead reports whether the features are known.
func (l *sharedLists) IsRead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read
}

// IsListed reports whether the features are known, and clients see them.
func (l *sharedLists) IsListed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read && !l.withdrawn
}

// Visible returns the features for clients: none while the upstream is withdrawn.
func (l *sharedLists) Visible() *Catalog {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.withdrawn {
		return new(Catalog)
	}
	return l.catalog
}

func (l *sharedLists) isWithdrawn() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.withdrawn
}

// Tools returns the tools of the upstream that clients see now.
func (l *sharedLists) Tools() []mcp.Tool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.visibleTools
}
