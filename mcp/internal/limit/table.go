package limit

import "sync"

// maxEntries limits the entries of a table.
const maxEntries = 65_536

// table has one value for each owner, which make creates when it is first needed. An idle
// value is equal to a new one, so the table removes idle values from time to time. It is
// safe for concurrent use.
type table[Owner comparable, V any] struct {
	make func() V
	idle func(V) bool

	mu    sync.RWMutex
	of    map[Owner]V // guarded by mu
	sweep int         // guarded by mu: the number of entries at which the idle ones are removed
}

func (t *table[Owner, V]) get(owner Owner) V {
	t.mu.RLock()
	v, ok := t.of[owner]
	t.mu.RUnlock()
	if ok {
		return v
	}
	return t.add(owner)
}

func (t *table[Owner, V]) add(owner Owner) V {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v, ok := t.of[owner]; ok {
		return v
	}
	if len(t.of) >= t.sweep {
		t.forget()
	}
	if t.of == nil {
		t.of = make(map[Owner]V)
	}
	v := t.make()
	t.of[owner] = v
	return v
}

// forget removes idle values. If the table is full of values that are not idle, it removes
// some of them, which bounds the memory; their owners get new ones. It removes many at once,
// because it reads the whole table. The caller holds mu.
func (t *table[Owner, V]) forget() {
	full := len(t.of) >= maxEntries
	for owner, v := range t.of {
		if t.idle(v) || full && len(t.of) > maxEntries/8*7 {
			delete(t.of, owner)
		}
	}
	t.sweep = min(2*max(len(t.of), 32), maxEntries)
}

// Len returns the number of owners that have a value.
func (t *table[Owner, V]) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.of)
}
