package replay_test

import (
	"slices"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/replay"
)

func TestTableHasOneValueForEachKeyInOrder(t *testing.T) {
	t.Parallel()
	var table replay.Table[int]
	for i, key := range []string{"b", "", "c", "a", "b"} {
		table.Set(key, i)
	}
	table.Delete("c")
	table.Delete("missing")
	want := replay.Table[int]{{Key: "", Value: 1}, {Key: "a", Value: 3}, {Key: "b", Value: 4}}
	if !slices.Equal(table, want) {
		t.Errorf("got %v, want %v", table, want)
	}
	if v, found := table.Get("b"); v != 4 || !found || !table.Has("a") {
		t.Errorf("b: got %d, %t, want 4", v, found)
	}
	if v, found := table.Get("c"); v != 0 || found || table.Has("c") {
		t.Errorf("c: got %d, %t, want none", v, found)
	}
}
