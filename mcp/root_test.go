package mcp_test

import (
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

func TestPathOfARoot(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"file:///home/me":          "/home/me",
		"file:///home/me/":         "/home/me",
		"file:///a%20b/%C3%A9":     "/a b/é",
		"file:///a/../b":           "/b",
		"file://localhost/a":       "/a",
		"file:///":                 "/",
		"file://other.example/a":   "",
		"https://example.com/home": "",
		"file:home/me":             "",
		"file:///a?x=1":            "",
		"file:///a#x":              "",
		"file:///a%00b":            "",
		"/home/me":                 "",
		"":                         "",
	} {
		got, err := mcp.Root{URI: uri}.Path()
		if filepath.ToSlash(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", uri, got, err, want)
		}
	}
}
