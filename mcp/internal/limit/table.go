package limit

import "sync"

// maxEntries bounds what a table keeps.
const maxEntries = 65_536

// table holds something for each of many owners, made when it is first asked for.
// What is idle is as good as new, and is forgotten now and then. It is safe for
// concurrent use.
type table[Owner comparable, V any] struct {
	make func() V
	idle func(V) bool

	mu    sync.RWMutex
	of    map[Owner]V // guarded by mu
	sweep int         // guarded by mu: the number of entries at which the idle ones are forgotten
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

// forget drops what is idle, and when the table is full of what is not, any: its
// owner begins anew, and the memory stays bounded. The caller holds mu.
func (t *table[Owner, V]) forget() {
	for owner, v := range t.of {
		if t.idle(v) || len(t.of) >= maxEntries {
			delete(t.of, owner)
		}
	}
	t.sweep = min(2*max(len(t.of), 32), maxEntries)
}

// Len returns how many owners the table has something for.
func (t *table[Owner, V]) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.of)
}
