// Package claim holds the requirements of the protocol, numbered and in our own
// words, and lets tests say which of them they show.
//
// What the tests of a whole run have said is written down in
// docs/spec-coverage.md, which internal/claim/coverage makes and compares.
package claim

import (
	"slices"
	"strings"
	"testing"
)

// Most is how many requirements one test may claim: a test that shows
// everything shows nothing.
const Most = 10

// Attribute is the name under which a claim stands among the attributes of a
// test. The value is the identifier of a requirement.
const Attribute = "shows"

// Shows says that the test, when it passes, shows that the requirements with
// these identifiers hold. A test that fails or is skipped claims nothing. An
// identifier that is not in the list fails the test.
//
// Claims are attributes of the test, so go test -json tells them and go test
// repeats them when it takes a result from its cache.
func Shows(tb testing.TB, ids ...string) {
	tb.Helper()
	if len(ids) == 0 || len(ids) > Most {
		tb.Fatalf("claim: %d requirements: a test claims between 1 and %d", len(ids), Most)
	}
	for _, id := range ids {
		if parts := Parts(id); !slices.Equal(parts, []string{id}) {
			tb.Fatalf("claim: %q is no requirement of internal/claim/requirements.tsv%s", id, instead(parts))
		}
		tb.Attr(Attribute, id)
	}
}

// instead names the parts of a requirement that was claimed as a whole.
func instead(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return "; claim what the test shows of " + strings.Join(parts, ", ")
}
