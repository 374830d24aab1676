//go:build unix && !darwin && !race

package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

// An address may have the key of a page, and every user of the machine sees the arguments of programs.
func TestAddressOfAServerIsInNoArgument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := "#!/bin/sh\nprintf '%s' \"$*\" >" + dir + "/arguments\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	m := &Main{IO: terminal.IO{Stderr: new(strings.Builder), Env: []string{"DISPLAY=:0", "PATH=" + dir + ":/usr/bin:/bin", "XDG_RUNTIME_DIR=" + dir}}}
	lines := []string{"y", "done"}
	d := m.dialog(func(context.Context, string, ...any) (line string, err error) {
		line, lines = lines[0], lines[1:]
		return line, nil
	})
	got, err := d.URL(t.Context(), &mcp.ElicitParams{Mode: mcp.ElicitURL, URL: "https://example.com/pay?key=cAnArY"})
	if err != nil || got.Action != mcp.ElicitAccept {
		t.Fatalf("got %v, %v, want it accepted", got, err)
	}
	path, err := os.ReadFile(filepath.Join(dir, "arguments"))
	if err != nil || len(path) == 0 || strings.Contains(string(path), "cAnArY") {
		t.Fatalf("got %s, %v, want no address in the arguments", path, err)
	}
	if page, err := os.ReadFile(string(path)); err != nil || !strings.Contains(string(page), "https://example.com/pay?key=cAnArY") {
		t.Errorf("got %s, %v, want a page that leads to the address", page, err)
	}
}

// A sign-in leads where its server says: the user sees whose page it is before the browser has it.
func TestAddressOfASignInThatMayLookLikeAnotherIsNotOpened(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://login.example/a?scope=read+all": "  host       login.example\n  scopes     read all\n",
		"https://xn--pypal-4ve.com/a":            "  host       xn--pypal-4ve.com\nWarning: its name has letters beyond ASCII",
	} {
		dir, said := t.TempDir(), new(strings.Builder)
		if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\n: >"+dir+"/opened\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		m := &Main{IO: terminal.IO{Stdin: strings.NewReader(""), Stderr: said, Env: []string{"DISPLAY=:0", "PATH=" + dir + ":/usr/bin:/bin", "XDG_RUNTIME_DIR=" + dir}}}
		if err := (&browserSignIn{main: m}).open(t.Context(), address); err != nil || !strings.HasPrefix(said.String(), want) {
			t.Errorf("%s: got %q, %v, want %q", address, said, err, want)
		}
		_, err := os.Stat(filepath.Join(dir, "opened"))
		if opened, warned := err == nil, strings.Contains(want, "Warning"); opened == warned || warned != strings.Contains(said.String(), address) {
			t.Errorf("%s: opened: %t, said %q", address, opened, said)
		}
	}
}
