package registry

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fondaco/fondaco/mcp"
)

// Snapshot is one immutable state of a registry, with its lists in order.
type Snapshot struct {
	catalogs  [Kinds]catalog
	declared  [Kinds]bool
	completes bool
	scoped    bool
	pages     pageCache
}

// catalog is one kind of feature of a snapshot.
type catalog struct {
	byKey      map[string]Feature
	byNormal   map[string]Feature // the features whose key is not its normal form, see Normalized
	order      []Feature          // by key
	restricted []Feature          // the features that are not visible to all callers, by key
}

// Snapshot returns the current state.
func (r *Registry) Snapshot() *Snapshot {
	if s := r.current.Load(); s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &Snapshot{declared: r.declared, completes: r.options.Dynamic}
	for k := range Kinds {
		s.declared[k] = s.declared[k] || r.options.Dynamic
		s.catalogs[k] = newCatalog(r.features[k], r.disabled[k])
		s.completes = s.completes || slices.ContainsFunc(s.catalogs[k].order, Feature.Completes)
		s.scoped = s.scoped || slices.ContainsFunc(s.catalogs[k].order, func(f Feature) bool { return len(f.access().Scopes) > 0 })
	}
	r.current.Store(s)
	return s
}

func newCatalog(all map[string]Feature, disabled map[string]bool) catalog {
	c := catalog{byKey: maps.Clone(all)}
	for key := range disabled {
		delete(c.byKey, key)
	}
	c.order = slices.SortedFunc(maps.Values(c.byKey), byKey)
	for _, f := range c.order {
		if f.Restricted() {
			c.restricted = append(c.restricted, f)
		}
		if n, ok := f.(Normalized); ok && n.NormalKey() != f.Key() && c.byKey[n.NormalKey()] == nil && c.byNormal[n.NormalKey()] == nil {
			if c.byNormal == nil {
				c.byNormal = make(map[string]Feature)
			}
			c.byNormal[n.NormalKey()] = f
		}
	}
	return c
}

func byKey(a, b Feature) int { return cmp.Compare(a.Key(), b.Key()) }

// Offers reports whether the server declares the capability for a kind of feature:
// once one was registered, or always with Options.Dynamic. Resources and templates
// have one capability.
func (s *Snapshot) Offers(k Kind) bool {
	if k == Resources || k == Templates {
		return s.declared[Resources] || s.declared[Templates]
	}
	return s.declared[k]
}

// Completes reports whether the server declares the capability for completion.
func (s *Snapshot) Completes() bool { return s.completes }

// Scoped reports whether any feature needs scopes.
func (s *Snapshot) Scoped() bool { return s.scoped }

// Lookup returns the feature with the key. It returns false if the feature is unknown or hidden
// from the caller.
func Lookup[T Feature](s *Snapshot, k Kind, key string, who *mcp.Identity) (T, bool) {
	f, ok := s.catalogs[k].byKey[key].(T)
	if !ok || !f.VisibleTo(who) {
		var none T
		return none, false
	}
	return f, true
}

// Get returns the feature with the key, even if it is hidden from some callers, or nil.
func (s *Snapshot) Get(k Kind, key string) Feature { return s.catalogs[k].byKey[key] }

// GetNormal returns the feature whose key has a normal form, even if it is hidden from some callers, or nil.
// Of several it is the one with that key, else the first.
func (s *Snapshot) GetNormal(k Kind, normal string) Feature {
	if f := s.catalogs[k].byKey[normal]; f != nil {
		return f
	}
	return s.catalogs[k].byNormal[normal]
}

// AnyVisible reports whether a caller may see any feature of a kind.
func (s *Snapshot) AnyVisible(k Kind, who *mcp.Identity) bool {
	return slices.ContainsFunc(s.catalogs[k].order, func(f Feature) bool { return f.VisibleTo(who) })
}

// All returns the features of a kind in the order of their keys, including those that are hidden
// from some callers. The caller must not modify the result.
func (s *Snapshot) All(k Kind) []Feature { return s.catalogs[k].order }
