package main

import (
	"slices"
	"testing"
)

func TestFilesAreOrderedFromTopToBottom(t *testing.T) {
	// c uses b, which uses a. The only reference back is that of a to c.
	refs := referenceSet{{"c", "b"}: true, {"b", "a"}: true, {"c", "a"}: true, {"a", "c"}: true}
	got := order([]string{"a", "b", "c"}, refs)
	if want := []string{"c", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if back := refs.back(got); !slices.Equal(back, []reference{{"a", "c"}}) {
		t.Errorf("got %v back, want the reference of a to c", back)
	}
}
