//go:build unix

package userfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/userfile"
)

func TestReadingsOfAPathWithParents(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	at := func(name string) string { return filepath.Join(root, name) }
	for _, dir := range []string{"user/sub", "other/sub", "third/deep/z"} {
		err = errors.Join(err, os.MkdirAll(at(dir), 0o700))
	}
	err = errors.Join(err, os.Symlink(at("other/sub"), at("user/link")), os.Symlink(at("third/deep/z"), at("other/sub/y")))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		dir, path string
		want      []string
	}{
		{"user", "x", []string{"user/x"}},
		{"user", "link/x", []string{"user/link/x"}},
		{"user", "sub/../x", []string{"user/x"}},
		{"user", "missing/../x", []string{"user/x"}},
		{"user", "link/../x", []string{"user/x", "other/x"}},
		{"user/link", "../x", []string{"user/x", "other/x"}},
		{"user/link", "y/../../x", []string{"user/x", "other/x", "third/x"}},
		{"user/link/..", "x", []string{"user/x", "other/x"}},
		{"third", root + "/user/link/../x", []string{"user/x", "other/x"}},
		{"third/..", root + "/user/x", []string{"user/x"}},
	} {
		var looked []string
		got := userfile.Readings(test.path, root+"/"+test.dir, func(path string) bool { looked = append(looked, path); return true })
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], root+"/")
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s in %s: got %q, want %q", test.path, test.dir, got, test.want)
		}
		if hasParent := strings.Contains(test.dir+test.path, ".."); !hasParent && len(looked) > 0 {
			t.Errorf("%s in %s: looked at %q, want nothing", test.path, test.dir, looked)
		}
	}
	got := userfile.Readings("link/../x", at("user"), func(path string) bool { return path != at("user/link") })
	if want := []string{at("user/x")}; !slices.Equal(got, want) {
		t.Errorf("behind a link that may not be looked at: got %q, want %q", got, want)
	}
}

func TestPathsBelowADirectory(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{"/a/b": true, "/a/b/c": true, "/a/b/..x": true, "/a/bc": false, "/a": false, "/a/b/../c": false, "/": false} {
		if got := userfile.IsBelow(path, "/a/b"); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}
