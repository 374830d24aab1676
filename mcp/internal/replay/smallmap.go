package replay

import (
	"slices"
	"strings"
)

// Table is a map for few keys, in one piece of memory: its entries are sorted by key. The
// zero value is empty.
type Table[V any] []Entry[V]

// Entry is a key of a Table and its value.
type Entry[V any] struct {
	Key   string
	Value V
}

func (t Table[V]) find(key string) (at int, found bool) {
	return slices.BinarySearchFunc(t, key, func(e Entry[V], key string) int { return strings.Compare(e.Key, key) })
}

// Get returns the value of a key, and whether there is one.
func (t Table[V]) Get(key string) (v V, found bool) {
	at, found := t.find(key)
	if found {
		v = t[at].Value
	}
	return v, found
}

// Has reports whether a key has a value.
func (t Table[V]) Has(key string) bool {
	_, found := t.find(key)
	return found
}

// Set gives a key a value, in place of the one that it has.
func (t *Table[V]) Set(key string, v V) {
	at, found := t.find(key)
	if found {
		(*t)[at].Value = v
		return
	}
	*t = slices.Insert(*t, at, Entry[V]{key, v})
}

// Delete removes a key and its value, if it has one.
func (t *Table[V]) Delete(key string) {
	if at, found := t.find(key); found {
		*t = slices.Delete(*t, at, at+1)
	}
}
