// Package registry holds the features that a server offers: tools, resources,
// templates of resources, and prompts.
//
// The registry holds immutable snapshots. A change discards the current snapshot, and
// the next reader makes a new one, so that many changes in a row cost one. Readers take
// no lock while a snapshot is current.
//
// A view is the part of a snapshot that one identity may see. A feature that an identity may
// not see is treated as an unknown one, in lists and everywhere else (Lookup).
//
// Pages of lists are encoded once per snapshot, revision and set of visible features,
// and then reused (Snapshot.Page).
package registry

import (
	"sync"
	"sync/atomic"
)

// Registry holds features by kind and key. Make one with New. Its methods are safe for
// concurrent use.
type Registry struct {
	options Options

	mu       sync.Mutex
	features [Kinds]map[string]Feature // guarded by mu
	disabled [Kinds]map[string]bool    // guarded by mu
	declared [Kinds]bool               // guarded by mu: a feature was ever registered
	batching int                       // guarded by mu: depth of Batch
	pending  []Change                  // guarded by mu: not announced yet

	current atomic.Pointer[Snapshot] // nil when stale
}

// Options of a registry.
type Options struct {
	// Changed is called with the changes that clients can see, after each change and
	// without the lock.
	Changed func([]Change)
	// Dynamic declares every kind and completion, even if no feature is registered.
	Dynamic bool
	// HideForbidden hides features from callers without their scopes.
	HideForbidden bool
}

// Change is a feature that was added, removed or replaced. Of a replaced feature there
// are two changes, with the old one and with the new one.
type Change struct {
	Kind    Kind
	Feature Feature
}

// New returns an empty registry.
func New(o Options) *Registry { return &Registry{options: o} }

// Put registers a feature. If a feature with the key exists and replace is false, it changes
// nothing and returns false.
func (r *Registry) Put(k Kind, f Feature, replace bool) bool {
	r.Prepare(f)
	return r.update(k, func() ([]Feature, bool) {
		if r.features[k][f.Key()] != nil && !replace {
			return nil, false
		}
		return r.placeLocked(k, f), true
	})
}

// Remove removes a feature and reports whether there was one.
func (r *Registry) Remove(k Kind, key string) bool {
	return r.update(k, func() ([]Feature, bool) { return r.dropLocked(k, key) })
}

// Enable enables or disables a feature and reports whether that was a change. A disabled
// feature is in no snapshot; a feature that replaces it is disabled, too.
func (r *Registry) Enable(k Kind, key string, on bool) bool {
	return r.update(k, func() ([]Feature, bool) {
		f := r.features[k][key]
		if f == nil || r.disabled[k][key] != on {
			return nil, false
		}
		if on {
			delete(r.disabled[k], key)
			return []Feature{f}, true
		}
		if r.disabled[k] == nil {
			r.disabled[k] = make(map[string]bool)
		}
		r.disabled[k][key] = true
		return []Feature{f}, true
	})
}

// Registered returns the feature with the key, even if it is disabled, or nil.
func (r *Registry) Registered(k Kind, key string) Feature {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.features[k][key]
}

// Batch calls fn and announces all changes of fn together after fn has returned or panicked.
// Nested batches are announced at the end of the outermost one. Changes that other goroutines
// make meanwhile are announced then, too.
func (r *Registry) Batch(fn func()) {
	r.mu.Lock()
	r.batching++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.batching--
		announce := r.takePendingLocked()
		r.mu.Unlock()
		if len(announce) > 0 {
			r.options.Changed(announce)
		}
	}()
	fn()
}

// placeLocked makes f the feature of its key. It returns the features whose addition or removal
// clients can see: none if f is listed like its predecessor.
func (r *Registry) placeLocked(k Kind, f Feature) []Feature {
	key := f.Key()
	old := r.features[k][key]
	if r.features[k] == nil {
		r.features[k] = make(map[string]Feature)
	}
	r.features[k][key] = f
	r.declared[k] = true
	switch {
	case r.disabled[k][key] || old != nil && looksLike(f, old):
		return nil
	case old != nil:
		return []Feature{old, f}
	}
	return []Feature{f}
}

// dropLocked removes the feature of a key, and reports whether there was one. seen are the
// features whose removal clients can see.
func (r *Registry) dropLocked(k Kind, key string) (seen []Feature, ok bool) {
	old := r.features[k][key]
	if old == nil {
		return nil, false
	}
	if !r.disabled[k][key] {
		seen = []Feature{old}
	}
	delete(r.features[k], key)
	delete(r.disabled[k], key)
	return seen, true
}

// update calls edit under the lock and then announces the features that edit returns as seen.
// It returns the second result of edit: whether the registry has changed.
func (r *Registry) update(k Kind, edit func() (seen []Feature, ok bool)) bool {
	r.mu.Lock()
	seen, ok := edit()
	for _, f := range seen {
		r.pending = append(r.pending, Change{k, f})
	}
	if ok {
		r.current.Store(nil)
	}
	announce := r.takePendingLocked()
	r.mu.Unlock()
	if len(announce) > 0 {
		r.options.Changed(announce)
	}
	return ok
}

// takePendingLocked returns the changes to announce now. Within Batch there are none.
func (r *Registry) takePendingLocked() []Change {
	if r.batching > 0 {
		return nil
	}
	announce := r.pending
	r.pending = nil
	return announce
}
