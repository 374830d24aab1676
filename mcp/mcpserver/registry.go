package mcpserver

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
)

// kind is one of the four sets of features that a server offers.
type kind uint8

const (
	kindTools kind = iota
	kindResources
	kindTemplates
	kindPrompts
	kinds
)

// feature is one thing that a server offers. Features are immutable: a change
// replaces them.
type feature interface {
	// key names the feature: a name, a URI or a URI template.
	key() string
	// shared is what every kind of feature has.
	shared() *common
	// visibleTo reports whether a caller may know of the feature. It depends on the
	// caller's principal and scopes alone.
	visibleTo(who *mcp.Identity) bool
	// restricted reports whether visibleTo can ever be false.
	restricted() bool
	// completes reports whether arguments of the feature can be completed.
	completes() bool
	// definition is what lists say of the feature.
	definition() any
}

// registry holds the features. A change discards the snapshot, and the next reader
// makes a new one, so that many changes in a row cost one.
type registry struct {
	// changed announces changes that clients can see, after the change and without
	// the lock.
	changed func([]change)
	// dynamic declares every kind, whatever was registered.
	dynamic bool
	// hides hides features from callers without their scopes.
	hides bool

	mu       sync.Mutex
	features [kinds]map[string]feature // guarded by mu
	disabled [kinds]map[string]bool    // guarded by mu
	declared [kinds]bool               // guarded by mu: something was ever registered
	batching int                       // guarded by mu: depth of Change
	pending  []change                  // guarded by mu: not announced yet

	current atomic.Pointer[snapshot] // nil when stale
}

// change is a feature that was added, removed or replaced.
type change struct {
	kind    kind
	feature feature
}

// snapshot is one immutable state of the registry, with its lists in order.
type snapshot struct {
	catalogs    [kinds]catalog
	declared    [kinds]bool
	completions bool
	scoped      bool // some feature needs scopes
	pages       pageCache
}

// catalog is one kind of feature of a snapshot.
type catalog struct {
	byKey      map[string]feature
	order      []feature // by key
	restricted []feature // those not visible to all, by key
}

// snapshot returns the current state.
func (r *registry) snapshot() *snapshot {
	if s := r.current.Load(); s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &snapshot{declared: r.declared, completions: r.dynamic}
	for k := range kinds {
		s.declared[k] = s.declared[k] || r.dynamic
		s.catalogs[k] = newCatalog(r.features[k], r.disabled[k])
		s.completions = s.completions || slices.ContainsFunc(s.catalogs[k].order, feature.completes)
		s.scoped = s.scoped || slices.ContainsFunc(s.catalogs[k].order, func(f feature) bool { return len(f.shared().scopes) > 0 })
	}
	r.current.Store(s)
	return s
}

func newCatalog(all map[string]feature, disabled map[string]bool) catalog {
	c := catalog{byKey: maps.Clone(all)}
	for key := range disabled {
		delete(c.byKey, key)
	}
	c.order = slices.SortedFunc(maps.Values(c.byKey), func(a, b feature) int { return cmp.Compare(a.key(), b.key()) })
	for _, f := range c.order {
		if f.restricted() {
			c.restricted = append(c.restricted, f)
		}
	}
	return c
}

// lookup returns the feature of that key as far as a caller may know of it. Hidden
// is the same as unknown.
func lookup[T feature](s *snapshot, k kind, key string, who *mcp.Identity) (T, bool) {
	f, ok := s.catalogs[k].byKey[key].(T)
	if !ok || !f.visibleTo(who) {
		var none T
		return none, false
	}
	return f, true
}

// put registers a feature. It reports false when one of the key exists and
// replace is false.
func (r *registry) put(k kind, f feature, replace bool) bool {
	f.shared().hides = r.hides
	return r.update(k, func() ([]feature, bool) {
		if r.features[k][f.key()] != nil && !replace {
			return nil, false
		}
		return r.place(k, f), true
	})
}

// place makes f the feature of its key. It returns the features that clients see
// come or go by that: none when f is listed as the one before it. The caller holds
// mu.
func (r *registry) place(k kind, f feature) []feature {
	old := r.features[k][f.key()]
	if r.features[k] == nil {
		r.features[k] = make(map[string]feature)
	}
	r.features[k][f.key()] = f
	r.declared[k] = true
	switch {
	case r.disabled[k][f.key()] || old != nil && looksLike(f, old):
		return nil
	case old != nil:
		return []feature{old, f}
	}
	return []feature{f}
}

// looksLike reports whether no client can tell two features apart by lists. Those
// with a Visible function are not compared: it may be another.
func looksLike(a, b feature) bool {
	x, y := a.shared(), b.shared()
	return x.visible == nil && y.visible == nil && slices.Equal(x.scopes, y.scopes) &&
		a.completes() == b.completes() && reflect.DeepEqual(a.definition(), b.definition())
}

// remove removes a feature and reports whether there was one.
func (r *registry) remove(k kind, key string) bool {
	return r.update(k, func() ([]feature, bool) { return r.drop(k, key) })
}

// drop removes the feature of a key, and reports whether there was one. It returns
// the features that clients see go by that. The caller holds mu.
func (r *registry) drop(k kind, key string) (seen []feature, ok bool) {
	old := r.features[k][key]
	if old == nil {
		return nil, false
	}
	if !r.disabled[k][key] {
		seen = []feature{old}
	}
	delete(r.features[k], key)
	delete(r.disabled[k], key)
	return seen, true
}

// enable switches a feature on or off and reports whether that changed anything.
func (r *registry) enable(k kind, key string, on bool) bool {
	return r.update(k, func() ([]feature, bool) {
		f := r.features[k][key]
		if f == nil || r.disabled[k][key] != on {
			return nil, false
		}
		if on {
			delete(r.disabled[k], key)
			return []feature{f}, true
		}
		if r.disabled[k] == nil {
			r.disabled[k] = make(map[string]bool)
		}
		r.disabled[k][key] = true
		return []feature{f}, true
	})
}

// update makes one edit under the lock, and announces the features that it returns
// as seen to change. It returns what the edit reports: whether anything changed.
func (r *registry) update(k kind, edit func() (seen []feature, ok bool)) bool {
	r.mu.Lock()
	seen, ok := edit()
	for _, f := range seen {
		r.pending = append(r.pending, change{k, f})
	}
	if ok {
		r.current.Store(nil)
	}
	announce := r.takePending()
	r.mu.Unlock()
	if len(announce) > 0 {
		r.changed(announce)
	}
	return ok
}

// takePending returns the changes to announce now. Within Change there are none.
// The caller holds mu.
func (r *registry) takePending() []change {
	if r.batching > 0 {
		return nil
	}
	announce := r.pending
	r.pending = nil
	return announce
}

// Change makes many changes one event: what fn registers, replaces and removes is
// announced once, after fn has returned or panicked. Changes within changes are
// announced by the outermost. Other goroutines that call the server meanwhile have
// their changes announced then too.
func (s *Server) Change(fn func()) {
	r := &s.features
	r.mu.Lock()
	r.batching++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.batching--
		announce := r.takePending()
		r.mu.Unlock()
		if len(announce) > 0 {
			r.changed(announce)
		}
	}()
	fn()
}
