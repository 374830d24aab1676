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
	d := &dialog{m, func(context.Context, string, ...any) (line string, err error) {
		line, lines = lines[0], lines[1:]
		return line, nil
	}}
	got, err := d.url(t.Context(), &mcp.ElicitParams{Mode: mcp.ElicitURL, URL: "https://example.com/pay?key=cAnArY"})
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
