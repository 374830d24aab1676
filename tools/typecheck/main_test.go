package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestErrorsOfAnotherSystemAreFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module x\n\ngo 1.27\n",
		"x.go":              "package x\n",
		"x_windows.go":      "package x\n\nvar _ = missing\n",
		"x_windows_test.go": "package x\n\nvar _ = missingInTest\n",
		"x_linux.go":        "package x\n\nvar _ = missingOnLinux\n",
		"tagged_test.go":    "//go:build load && windows\n\npackage x\n\nvar _ = missingWithTag\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	errs, err := check("windows", "load", []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(errs, "\n")
	for _, want := range []string{"missing", "missingInTest", "missingWithTag"} {
		if !strings.Contains(text+"\n", "undefined: "+want+"\n") {
			t.Errorf("got %q, want %s to be undefined", text, want)
		}
	}
	if len(errs) != 3 {
		t.Errorf("got %d errors, want 3: %s", len(errs), text)
	}
}
