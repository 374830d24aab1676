//go:build unix && !darwin && !race

package browser_test

import (
	"errors"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/browser"
)

func TestLinkIsOpenedByTheProgramOfTheDesktopWithoutBeingAnArgument(t *testing.T) {
	t.Parallel()
	const link = "https://example.com/?a=1&key=cAnArY';%22"
	dir := t.TempDir()
	pages := filepath.Join(dir, "a $(id)")
	if err := os.Mkdir(pages, 0o700); err != nil {
		t.Fatal(err)
	}
	program := "#!/bin/sh\nprintf '<%s>' \"$@\" >" + dir + "/opened\nexport >" + dir + "/env\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{"PATH": "bin:" + dir + ":/usr/bin:/bin", "DISPLAY": ":0", "SECRET": "cAnArY"}
	env := func(name string) (string, bool) { value, ok := variables[name]; return value, ok }
	if err := browser.Open(t.Context(), env, pages, link); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(pages, "open.html")
	if opened, err := os.ReadFile(filepath.Join(dir, "opened")); string(opened) != "<"+page+">" || err != nil {
		t.Errorf("got %s, %v, want the path of the page as the only argument", opened, err)
	}
	text, err := os.ReadFile(page)
	if leads := strings.Count(html.UnescapeString(string(text)), "https://example.com/?a=1&key=cAnArY"); err != nil || leads != 2 {
		t.Errorf("got %s, %v, want a page that leads to the link", text, err)
	}
	if info, err := os.Stat(page); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a page for the user alone", info, err)
	}
	if passed, err := os.ReadFile(filepath.Join(dir, "env")); err != nil || strings.Contains(string(passed), "cAnArY") {
		t.Errorf("got %s, %v, want no other variable passed on", passed, err)
	}
	delete(variables, "DISPLAY")
	if err := browser.Open(t.Context(), env, dir, link); !errors.Is(err, browser.ErrNone) {
		t.Errorf("without a desktop: got %v, want %v", err, browser.ErrNone)
	}
	if _, err := os.Stat(filepath.Join(dir, "open.html")); err == nil {
		t.Error("without a desktop: got a page, want none")
	}
}
