package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each suite is in .ci/run or in .ci/nightly, except those that another one contains.
func TestEverySuiteRunsInCIOrNightly(t *testing.T) {
	elsewhere := map[string]string{
		"coverage": "test makes the same check",
		"fuzz":     "fuzz-smoke is its short form",
		"load":     "it measures time and runs if it is named",
	}
	goals := append(listIn(t, ".ci/run", `(?m)^for goal in (.*); do$`), listIn(t, ".ci/nightly", `(?m)^topics=\(([a-z].*)\)$`)...)
	for _, suite := range append(listIn(t, "Makefile", `(?m)^suites := (.*)$`), "fuzz-smoke", "bench-gate") {
		if run := slices.Contains(goals, suite); run == (elsewhere[suite] != "") {
			t.Errorf("suite %s: run %v, want %v %s", suite, run, !run, elsewhere[suite])
		}
	}
}

// listIn returns the words that a pattern finds in a file of the project.
func listIn(t *testing.T, name, pattern string) []string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(projectFile(t, name))
	if found == nil {
		t.Fatalf("%s has no line that matches %s", name, pattern)
	}
	return words(found[1])
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
		"GOOS=windows GOARCH=arm64 vet -tags load,hosts,hostile,npm,replicas,release ./...", "GOOS=windows GOARCH=arm64 build ./...",
		"GOOS=js GOARCH=wasm vet ./mcp/...", "GOOS=wasip1 GOARCH=wasm vet ./mcp/...",
		"GOOS=js GOARCH=wasm build ./mcp/...", "GOOS=wasip1 GOARCH=wasm build ./mcp/...",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}
