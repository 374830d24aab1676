package docs_test

import (
	"regexp"
	"testing"
)

var changelogEntry = regexp.MustCompile(`(?m)^(- .*\n(?:  .*\n)*|## .*\n)`)

// TestNoEntryOfTheChangelogOccursTwice finds what merges of two branches leave.
func TestNoEntryOfTheChangelogOccursTwice(t *testing.T) {
	t.Parallel()
	entries := changelogEntry.FindAllString(readPage(t, "../CHANGELOG.md"), -1)
	if len(entries) < 30 {
		t.Fatalf("got %d entries, want more", len(entries))
	}
	seen := make(map[string]bool)
	for _, entry := range entries {
		if seen[entry] {
			t.Errorf("an entry occurs twice:\n%s", entry)
		}
		seen[entry] = true
	}
}
