//go:build unix && !darwin && !race

package browser_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/browser"
)

func TestFileIsOpenedByTheProgramOfTheDesktop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := "#!/bin/sh\nprintf '<%s>' \"$@\" >" + dir + "/opened\nexport >" + dir + "/env\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{"PATH": "bin:" + dir + ":/usr/bin:/bin", "DISPLAY": ":0", "SECRET": "cAnArY"}
	env := func(name string) (string, bool) { value, ok := variables[name]; return value, ok }
	if err := browser.Open(t.Context(), env, "/a b/$(id).html"); err != nil {
		t.Fatal(err)
	}
	if opened, err := os.ReadFile(filepath.Join(dir, "opened")); string(opened) != "</a b/$(id).html>" || err != nil {
		t.Errorf("got %s, %v, want the path as one argument", opened, err)
	}
	if passed, err := os.ReadFile(filepath.Join(dir, "env")); err != nil || strings.Contains(string(passed), "cAnArY") {
		t.Errorf("got %s, %v, want no other variable passed on", passed, err)
	}
	delete(variables, "DISPLAY")
	if err := browser.Open(t.Context(), env, "/x"); !errors.Is(err, browser.ErrNone) {
		t.Errorf("without a desktop: got %v, want %v", err, browser.ErrNone)
	}
}
