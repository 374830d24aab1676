package docs_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"
)

// sourceOf returns the text of the Go files of the module whose names are wanted.
func sourceOf(t *testing.T, wanted func(name string) bool) string {
	t.Helper()
	var all strings.Builder
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "node_modules" || e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".") && name != ".") {
			return fs.SkipDir
		}
		if e.IsDir() || !strings.HasSuffix(name, ".go") || !wanted(name) {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		all.Write(text)
		return err
	})
	if err != nil || all.Len() == 0 {
		t.Fatalf("read the sources: got %d bytes, %v", all.Len(), err)
	}
	return all.String()
}
