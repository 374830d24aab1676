package files_test

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpext/files"
)

func rootAt(path string) mcp.Root {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	return mcp.Root{URI: u.String()}
}

func TestPathsOutsideOfTheRootsAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-318b")
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, filepath.FromSlash(name)) }
	for _, dir := range []string{"a/inner", "ab", "out"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"a/f", "a/inner/f", "ab/f", "out/f", "out/single"} {
		if err := os.WriteFile(at(file), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("out"), at("a/link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	roots := []mcp.Root{
		rootAt(at("a")), rootAt(at("a/inner")), rootAt(at("gone")), rootAt(at("out/single")),
		{URI: "https://example.com/"},
		{URI: "file://other.example" + filepath.ToSlash(at("out"))},
	}
	for name, test := range map[string]struct {
		path, in string // the name in its root, or "" when there is none
		readable bool
	}{
		"a file":                      {at("a/f"), "f", true},
		"of the innermost root":       {at("a/inner/f"), "f", true},
		"the root itself":             {at("a"), ".", false},
		"a file that is not there":    {at("a/new"), "new", false},
		"dots that stay":              {at("a") + "/x/../f", "f", true},
		"dots that lead out":          {at("a") + "/../out/f", "", false},
		"beside, with the same start": {at("ab/f"), "", false},
		"outside":                     {at("out/f"), "", false},
		"a link that leads out":       {at("a/link/f"), filepath.FromSlash("link/f"), false},
		"a root that has vanished":    {at("gone/f"), "", false},
		"a root that is a file":       {at("out/single"), "single", true},
		"relative":                    {"f", "", false},
		"empty":                       {"", "", false},
	} {
		root, in, err := files.OpenRoot(roots, test.path)
		if in != test.in || (err == nil) != (test.in != "") {
			t.Errorf("%s: got %q, %v, want %q", name, in, err, test.in)
		}
		if err != nil {
			continue
		}
		defer root.Close()
		if _, err := fs.ReadFile(root.FS(), filepath.ToSlash(in)); (err == nil) != test.readable {
			t.Errorf("%s: read: got %v, want readable %t", name, err, test.readable)
		}
	}
}
