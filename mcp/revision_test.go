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

// Code outside of this package and the dialect decides by facts, so a later revision takes the
// way of the newest one there.
func TestLaterRevisionHasTheFactsOfTheNewestOne(t *testing.T) {
	t.Parallel()
	for name, fact := range map[string]func(mcp.Revision) bool{
		"Stateless":                mcp.Revision.Stateless,
		"HasCompletionsCapability": mcp.Revision.HasCompletionsCapability,
		"HasElicitation":           mcp.Revision.HasElicitation,
		"HasURLElicitation":        mcp.Revision.HasURLElicitation,
		"HasSamplingTools":         mcp.Revision.HasSamplingTools,
		"HasFeatureMeta":           mcp.Revision.HasFeatureMeta,
		"HasCoreTasks":             mcp.Revision.HasCoreTasks,
		"HasServerAuthorization":   mcp.Revision.HasServerAuthorization,
	} {
		if got, want := fact(mcp.LaterRevision), fact(mcp.V20260728); got != want {
			t.Errorf("%s of a later revision: got %t, want %t", name, got, want)
		}
		if fact(mcp.Revision{}) {
			t.Errorf("%s of no revision: got true", name)
		}
	}
	if !mcp.LaterRevision.Stateless() {
		t.Error("a later revision is not stateless")
	}
}
