// Package claim holds the requirements of the protocol, numbered and in our own words,
// and lets tests declare which of them they show.
//
// internal/claim/coverage collects the claims of a whole test run.
package claim

import (
	"slices"
	"strings"
	"testing"
)

// MaxClaims limits the requirements that one test may claim, so that claims are specific.
const MaxClaims = 10

// Attribute is the test attribute of a claim. Its value is the identifier of a
// requirement.
const Attribute = "shows"

// Shows declares that the test, when it passes, shows that the requirements with these
// identifiers hold. A test that fails or is skipped claims nothing. An unknown identifier
// fails the test.
//
// Claims are test attributes, so that go test -json prints them, also for cached results.
func Shows(tb testing.TB, ids ...string) {
	tb.Helper()
	if len(ids) == 0 || len(ids) > MaxClaims {
		tb.Fatalf("claim: %d requirements: a test claims between 1 and %d", len(ids), MaxClaims)
	}
	for _, id := range ids {
		if parts := Parts(id); !slices.Equal(parts, []string{id}) {
			tb.Fatalf("claim: %q is no requirement of internal/claim/requirements.tsv%s", id, partsHint(parts))
		}
		tb.Attr(Attribute, id)
	}
}

// partsHint names the parts of a requirement that was claimed as a whole.
func partsHint(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return "; claim what the test shows of " + strings.Join(parts, ", ")
}
