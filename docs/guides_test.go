// Package docs_test checks the code of the guides that is in no other test.
package docs_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// guides are the pages whose Go code must be part of a program in sources.
var guides = []string{"../README.md", "recipes.md", "server.md", "results.md", "load-balancing.md", "embedding.md", "resources.md", "durable.md", "deployment.md", "engines.md", "wire.md", "check.md", "telemetry.md"}

// sources are the programs and tests that the code of the guides is taken from.
var sources = []string{"*_test.go", "../examples/*/*.go", "../mcp/*/example_test.go", "../mcp/mcpext/*/*example_test.go", "../mcp/store/*/example_test.go", "../mcp/mcptest/*_example_test.go"}

var (
	goBlock = regexp.MustCompile("(?s)```go\n(.*?)[ ]*```")
	margin  = regexp.MustCompile(`(?m)^[ \t]+`)
)

func TestCodeOfGuidesIsPartOfAProgram(t *testing.T) {
	t.Parallel()
	var programs strings.Builder
	for _, pattern := range sources {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: got %q, %v, want files", pattern, names, err)
		}
		for _, name := range names {
			programs.WriteString(margin.ReplaceAllString(readPage(t, name), ""))
		}
	}
	for _, guide := range guides {
		blocks := goBlock.FindAllStringSubmatch(readPage(t, guide), -1)
		if len(blocks) == 0 {
			t.Errorf("%s: got no code, want some", guide)
		}
		for _, block := range blocks {
			if !strings.Contains(programs.String(), margin.ReplaceAllString(block[1], "")) {
				t.Errorf("%s: no program has\n%s", guide, block[1])
			}
		}
	}
}

var getModule = regexp.MustCompile(`go get github\.com/fondaco/fondaco(?:[^/]|$)`)

// TestGuidesGetAPackage: for the module alone, go get adds no checksums of the modules that its
// packages import, and the build of the reader's program fails.
func TestGuidesGetAPackage(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"*.md", "../*.md", "../examples/*/*.md", "../x/*/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: got %q, %v, want pages", pattern, pages, err)
		}
		for _, page := range pages {
			if found := getModule.FindString(readPage(t, page)); found != "" {
				t.Errorf("%s: got %q, want a package of the module", page, found)
			}
		}
	}
}

var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// TestCommandsOfTheServerGuidePrintWhatItShows runs the commands after "$ " of the console
// blocks. In what they print "..." stands for any text; a last line "^C" interrupts.
func TestCommandsOfTheServerGuidePrintWhatItShows(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a Unix shell")
	}
	t.Parallel()
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", bin, "../cmd/fondaco", "../examples/notes")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	ran := 0
	for _, block := range consoleBlock.FindAllStringSubmatch(readPage(t, "server.md"), -1) {
		for _, session := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, want, _ := strings.Cut(session, "\n")
			ran++
			cmd := exec.CommandContext(t.Context(), "sh", "-c", "exec "+command)
			cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+bin, "XDG_CONFIG_HOME="+bin)
			want, interrupted := strings.CutSuffix(strings.TrimSpace(want), "\n^C")
			var out string
			if interrupted {
				// The port of the guide may be taken.
				cmd.Args[2] = strings.Replace(cmd.Args[2], ":8080", ":0", 1)
				want = strings.ReplaceAll(want, ":8080", ":...")
				out = interrupt(t, cmd, strings.Count(want, "\n")+1)
			} else {
				out = output(t, cmd)
			}
			if !matches(want, out) {
				t.Errorf("%s: got\n%s\nwant\n%s", command, out, want)
			}
		}
	}
	if ran < 4 {
		t.Errorf("got %d commands, want those of the section about running", ran)
	}
}

// output returns what a command prints. The command may fail.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatalf("%s: %v", cmd, err)
	}
	return string(out)
}

// interrupt returns the first lines that a server prints, and then interrupts it.
func interrupt(t *testing.T, cmd *exec.Cmd, lines int) string {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	var out strings.Builder
	for r := bufio.NewScanner(stderr); lines > 0 && r.Scan(); lines-- {
		out.WriteString(r.Text() + "\n")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("%s: interrupt: %v", cmd, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: got %v after an interrupt, want success", cmd, err)
	}
	return out.String()
}

// matches reports whether text is the pattern, in which "..." stands for any text.
func matches(pattern, text string) bool {
	quoted := strings.ReplaceAll(regexp.QuoteMeta(pattern), regexp.QuoteMeta("..."), "(?s:.*)")
	return regexp.MustCompile(`^\s*` + quoted + `\s*$`).MatchString(text)
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
