//go:build unix && !darwin && !race

package browser_test

import (
	"errors"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host/browser"
)

// desktop is a directory with a program of the desktop, which writes its arguments and variables into it, and the
// variables with which the program is found.
func desktop(t *testing.T) (dir string, variables map[string]string) {
	t.Helper()
	dir = t.TempDir()
	program := "#!/bin/sh\nprintf '<%s>' \"$@\" >" + dir + "/opened\nexport >" + dir + "/env\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, map[string]string{"PATH": "bin:" + dir + ":/usr/bin:/bin", "DISPLAY": ":0", "SECRET": "cAnArY"}
}

// openedPage returns the path of the page that the program of the desktop has got.
func openedPage(t *testing.T, dir string) string {
	t.Helper()
	opened, err := os.ReadFile(filepath.Join(dir, "opened"))
	page, one := strings.CutPrefix(strings.TrimSuffix(string(opened), ">"), "<")
	if err != nil || !one || strings.Contains(page, "><") {
		t.Fatalf("got %s, %v, want the path of the page as the only argument", opened, err)
	}
	return page
}

func TestLinkIsOpenedByTheProgramOfTheDesktopWithoutBeingAnArgument(t *testing.T) {
	t.Parallel()
	const link = "https://example.com/?a=1&key=cAnArY';%22"
	dir, variables := desktop(t)
	pages := filepath.Join(dir, "a $(id)")
	if err := os.Mkdir(pages, 0o700); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) { value, ok := variables[name]; return value, ok }
	if err := browser.Open(t.Context(), env, pages, link); err != nil {
		t.Fatal(err)
	}
	page := openedPage(t, dir)
	if filepath.Dir(page) != pages {
		t.Errorf("got %s, want it in %s", page, pages)
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
	if found, err := filepath.Glob(filepath.Join(dir, "*.html")); len(found) > 0 || err != nil {
		t.Errorf("without a desktop: got %q, %v, want no page", found, err)
	}
}

func TestLinksThatAreOpenedAtOnceHavePagesOfTheirOwn(t *testing.T) {
	t.Parallel()
	dir, variables := desktop(t)
	env := func(name string) (string, bool) { value, ok := variables[name]; return value, ok }
	open := func(link string) (page string) {
		t.Helper()
		if err := browser.Open(t.Context(), env, dir, link); err != nil {
			t.Fatal(err)
		}
		return openedPage(t, dir)
	}
	first, second := open("https://one.example/"), open("https://two.example/")
	if first == second {
		t.Errorf("got %s twice, want another page for each link", first)
	}
	if text, err := os.ReadFile(first); err != nil || !strings.Contains(string(text), "https://one.example/") {
		t.Errorf("got %s, %v, want the first page after the second link was opened", text, err)
	}
	other := filepath.Join(dir, "opening.html")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	hourAgo := time.Now().Add(-time.Hour)
	for _, path := range []string{first, other} {
		if err := os.Chtimes(path, hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
	}
	open("https://three.example/")
	if _, err := os.Stat(first); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want the page of an hour ago removed", err)
	}
	for _, path := range []string{second, other} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("got %v, want it kept", err)
		}
	}
}
