package spawn_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
)

func TestArgumentsArriveLiterally(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := command("args", "; touch x", "$(touch x)", "`touch x`", "%PATH%", "${env:HOME}", "*", "", "two\nlines")
	c.Dir = dir
	got := output(t, start(t, c, nil))
	want := `["; touch x" "$(touch x)" "` + "`touch x`" + `" "%PATH%" "${env:HOME}" "*" "" "two\nlines"]` + "\n"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("got %v in the working directory, want no file", entries)
	}
}

func TestChildHasNoSecretsOfOurs(t *testing.T) {
	claim.Shows(t, "R-086")
	t.Setenv("AWS_SECRET", "canary-1")
	t.Setenv("OUR_TOKEN", "canary-2")
	t.Setenv("LD_LIBRARY_PATH", "canary-3")
	t.Setenv("LC_TIME", "C")
	c := with(command("environ"), "GIVEN", "yes=no")
	got := output(t, start(t, c, nil))
	if strings.Contains(got, "canary") {
		t.Errorf("got the environment\n%s\nwant no canary in it", got)
	}
	for _, want := range []string{"PATH=" + os.Getenv("PATH"), "LC_TIME=C", "GIVEN=yes=no"} {
		if !strings.Contains("\n"+got, "\n"+want+"\n") {
			t.Errorf("got the environment\n%s\nwant %s in it", got, want)
		}
	}
}

func TestInheritedEnvironmentIsWholeAndGivenVariablesWin(t *testing.T) {
	t.Setenv("OUR_TOKEN", "theirs too")
	t.Setenv("LANG", "C")
	c := with(command("environ"), "LANG", "it_IT.UTF-8")
	c.InheritEnv = true
	got := output(t, start(t, c, nil))
	if !strings.Contains(got, "OUR_TOKEN=theirs too\n") || !strings.Contains(got, "LANG=it_IT.UTF-8\n") || strings.Contains(got, "LANG=C\n") {
		t.Errorf("got the environment\n%s\nwant OUR_TOKEN and the given LANG alone", got)
	}
}

func TestGivenPathIsSearched(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a symbolic link to the test binary")
	}
	dir := t.TempDir()
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "weather-server")); err != nil {
		t.Fatal(err)
	}
	c := with(command("args", "found"), "PATH", "relative"+string(os.PathListSeparator)+dir)
	c.Path = "weather-server"
	if got, want := output(t, start(t, c, nil)), "[\"found\"]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProgramInCurrentDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	name := "server"
	if runtime.GOOS == "windows" {
		name = "server.exe"
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("PATH", "."+string(os.PathListSeparator)+os.Getenv("PATH"))
	if _, err := spawn.Start(spawn.Command{Path: "server"}, nil); !errors.Is(err, exec.ErrDot) {
		t.Errorf("got %v, want %v", err, exec.ErrDot)
	}
	c := spawn.Command{Path: "server", Env: map[string]string{"PATH": "." + string(os.PathListSeparator) + "/nowhere"}}
	if _, err := spawn.Start(c, nil); err == nil || !strings.Contains(err.Error(), "not found in the given PATH") {
		t.Errorf("got %v, want not found in the given PATH", err)
	}
}

// The search of a program leaves out the working directory, so the error says how to name one
// that is there.
func TestProgramOfTheWorkingDirectoryIsNamedWithItsPath(t *testing.T) {
	name := "fondaco-program-here"
	if runtime.GOOS == "windows" {
		t.Skip("on Windows the search finds it and reports its path")
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := spawn.Start(spawn.Command{Path: name}, nil)
	if !errors.Is(err, exec.ErrNotFound) || !strings.HasSuffix(err.Error(), "write ./"+name) {
		t.Errorf("got %v, want an error that ends in write ./%s", err, name)
	}
	if _, err := spawn.Start(spawn.Command{Path: name + "-2"}, nil); err == nil || strings.Contains(err.Error(), "./") {
		t.Errorf("got %v, want an error without a path that does not exist", err)
	}
}

func TestCommandThatCannotStartReportsTheReason(t *testing.T) {
	t.Parallel()
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	tests := []struct {
		command spawn.Command
		want    string
	}{
		{spawn.Command{}, "start command: the command has no path"},
		{spawn.Command{Path: "no-such-program-here"}, `start command: exec: "no-such-program-here": executable file not found in`},
		{spawn.Command{Path: nowhere}, "start command: fork/exec " + nowhere},
		{spawn.Command{Path: os.Args[0], Dir: nowhere}, "start command: working directory: stat " + nowhere},
		{spawn.Command{Path: os.Args[0], Dir: os.Args[0]}, "is not a directory"},
		{spawn.Command{Path: os.Args[0], Env: map[string]string{"A=B": ""}}, `start command: environment variable "A=B"`},
		{spawn.Command{Path: os.Args[0], Env: map[string]string{"A": "\x00"}}, "start command: "},
		{spawn.Command{Path: os.Args[0], Args: []string{"\x00"}}, "start command: "},
	}
	for _, test := range tests {
		_, err := spawn.Start(test.command, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "start command: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("start %+v: got %v, want %s", test.command, err, test.want)
		}
	}
}
