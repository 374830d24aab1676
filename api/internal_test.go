package api_test

import (
	"strings"
	"testing"
)

// TestNoExportedNameShowsAnInternalType keeps the documentation whole: go doc
// shows neither fields nor methods of a type that is an alias of one below
// internal, and nobody else can name it.
func TestNoExportedNameShowsAnInternalType(t *testing.T) {
	for name, pkg := range publicPackages(t) {
		for line := range strings.Lines(describe(pkg)) {
			if strings.Contains(line, "/internal/") {
				t.Errorf("%s: %s: want a type of a public package", name, strings.TrimSpace(line))
			}
		}
	}
}
