package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each suite runs before a change is taken in, except the one that measures time and
// those that another suite contains.
func TestCIRunsEverySuite(t *testing.T) {
	elsewhere := map[string]string{
		"load":     "it measures time and needs a machine of its own",
		"coverage": "test compares what it writes",
		"fuzz":     "fuzz-smoke is its short form",
	}
	root := filepath.Join("..", "..")
	script, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^suites := (.*)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("Makefile has no line that begins with suites :=")
	}
	for _, suite := range append(words(string(list[1])), "fuzz-smoke") {
		inCI := regexp.MustCompile(`(?m)^(for goal in|\t).*[ "]` + suite + `[ ";]`).Match(script)
		if inCI == (elsewhere[suite] != "") {
			t.Errorf("suite %s: in .ci/run %v, want %v %s", suite, inCI, !inCI, elsewhere[suite])
		}
	}
}

func TestStateMachineFuzzersRunLonger(t *testing.T) {
	d := durations{fuzz: 2 * time.Second, fuzzLong: time.Minute}
	for pkg, want := range map[string]string{
		"github.com/fondaco/fondaco/mcp/internal/replay":  "1m0s",
		"github.com/fondaco/fondaco/mcp/internal/jsonrpc": "2s",
		"github.com/fondaco/fondaco/other/replay":         "2s",
	} {
		s := fuzzStep(pkg, "FuzzX", d)
		i := slices.Index(s.command, "-fuzztime")
		if i < 0 || s.command[i+1] != want || !slices.Contains(s.command, "^FuzzX$") {
			t.Errorf("%s: got %s, want -fuzztime %s", pkg, strings.Join(s.command, " "), want)
		}
	}
}

func TestPlatformsAndSandboxesAreVettedAndBuilt(t *testing.T) {
	var got []string
	for _, s := range platformSteps() {
		got = append(got, strings.Join(append(s.env, s.command[1:]...), " "))
	}
	for _, want := range []string{
		"GOOS=windows GOARCH=arm64 vet -tags load,hosts,hostile,npm,replicas ./...", "GOOS=windows GOARCH=arm64 build ./...",
		"GOOS=js GOARCH=wasm vet ./mcp/...", "GOOS=wasip1 GOARCH=wasm vet ./mcp/...",
		"GOOS=js GOARCH=wasm build ./mcp/...", "GOOS=wasip1 GOARCH=wasm build ./mcp/...",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}
