package mcpotel

import (
	"sync"
	"testing"
)

// Counts of messages in progress are in a cache: two for one key would each have a part of the messages.
func TestCacheHasOneValueForAKey(t *testing.T) {
	t.Parallel()
	var c cache[string, *int]
	var making sync.WaitGroup
	making.Add(2)
	create := func(string) *int { // both callers find nothing
		making.Done()
		making.Wait()
		return new(int)
	}
	got := make(chan *int, 2)
	for range 2 {
		go func() { got <- c.get("tools/call", create) }()
	}
	if first, second := <-got, <-got; first != second || c.get("tools/call", nil) != first {
		t.Errorf("got %p and %p, and then %p, want the same value", first, second, c.get("tools/call", nil))
	}
}
