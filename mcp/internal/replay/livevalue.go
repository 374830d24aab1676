package replay

import "sync"

// Value is a live value of this process that a run holds. It is closed exactly once.
type Value struct {
	V     any
	close func()
}

// NewValue returns a Value that is closed by close. close is called once, on the
// goroutine that ends the value, never under a lock; it has to contain its own panics.
func NewValue(v any, close func()) *Value { return &Value{V: v, close: sync.OnceFunc(close)} }

// Close closes the value, unless that has happened. It may be called several times and
// returns when the value is closed.
func (v *Value) Close() { v.close() }

// CloseAll closes several values.
func CloseAll[K comparable](values map[K]*Value) {
	for _, v := range values {
		v.Close()
	}
}
