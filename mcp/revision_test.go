package mcp_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

func TestRevisions(t *testing.T) {
	t.Parallel()
	all := mcp.Revisions()
	if len(all) != 5 {
		t.Fatalf("got %d revisions, want 5", len(all))
	}
	for _, r := range all {
		if got, ok := mcp.ParseRevision(r.String()); !ok || got != r || r.IsZero() {
			t.Errorf("%v: got %v and %t, want itself", r, got, ok)
		}
		if got, want := encode(t, r), `"`+r.String()+`"`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, name := range []string{"", "1999-01-01", "DRAFT-2026-v1"} {
		if got, ok := mcp.ParseRevision(name); ok || !got.IsZero() {
			t.Errorf("%q: got %v, want none", name, got)
		}
	}
}
