package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The packages of this module pass, fail, do not build, and leak.
var faulty = map[string]string{
	"go.mod": "module faulty\n\ngo 1.27\n",
	"broken/broken_test.go": `package broken

func f() { undefined() }
`,
	"chance/chance_test.go": `package chance

import (
	"os"
	"testing"
)

func TestOther(*testing.T) {}

func TestThatFailsFirst(t *testing.T) {
	if _, err := os.Stat("ran"); err != nil {
		os.WriteFile("ran", nil, 0o600)
		t.Error("it is the first time")
	}
}
`,
	"fails/fails_test.go": `package fails

import "testing"

func TestThatFails(t *testing.T) {
	t.Run("in part", func(t *testing.T) { t.Error("got 1, want 2") })
}
`,
	"leaks/leaks_test.go": `package leaks

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	m.Run()
	fmt.Println("1 goroutine leaked")
	os.Exit(1)
}

func TestThatPasses(*testing.T) {}
`,
}

func runFaulty(t *testing.T, packages ...string) *tally {
	t.Helper()
	dir := t.TempDir()
	for name, text := range faulty {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tools, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	former := runner
	runner = []string{"go", "tool", "-modfile", filepath.Join(tools, "go.mod"), "gotestsum"}
	t.Cleanup(func() { runner = former })
	total := &tally{out: t.Output()}
	s := testStep("tests with faults", packages)
	s.dir = dir
	s.run(total)
	return total
}

func TestReportNamesWhatFailed(t *testing.T) {
	total := runFaulty(t, "./broken", "./fails", "./leaks")
	if got, want := total.String(), "1 passed, 4 failed, 0 skipped"; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	text := report(total.problems)
	for _, want := range []string{
		`(?m)^FAIL faulty/broken\n  step: tests with faults\n  alone: cd \S+ && go test .* faulty/broken$(.*\n)*? *broken/broken_test.go.*: undefined: undefined`,
		`(?m)^FAIL faulty/fails TestThatFails/in_part\n.*\n  alone: cd \S+ && go test .* -run '\^TestThatFails\$/\^in_part\$' faulty/fails$(.*\n)*? *fails_test.go:6: got 1, want 2`,
		`(?m)^FAIL faulty/leaks\n(.*\n)*? *1 goroutine leaked$`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the report does not match %s:\n%s", want, text)
		}
	}
}

func TestTestThatPassesAloneIsFlaky(t *testing.T) {
	total := runFaulty(t, "./chance")
	if got, want := total.String(), "2 passed, 0 failed, 0 skipped"; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	text := report(total.problems)
	if !strings.HasPrefix(text, "FLAKY faulty/chance TestThatFailsFirst\n") ||
		!strings.Contains(text, "it is the first time") || !strings.Contains(text, "repeated alone, it passed") {
		t.Errorf("got the report %q, want both outputs of the test", text)
	}
}

func TestReportHasTheEndOfAnOutput(t *testing.T) {
	got := report([]problem{{kind: "FAIL", subject: "it", step: "a step", output: strings.Repeat("first\n", 5) + strings.Repeat("last\n", reportedLines)}})
	if strings.Contains(got, "first\n") || strings.Count(got, "last\n") != reportedLines || !strings.Contains(got, "5 lines before") {
		t.Errorf("got %q, want the last %d lines", got, reportedLines)
	}
}

func TestTestsOfTheQuarantineAreSkipped(t *testing.T) {
	text := "# why\n\nTestA it waits for a clock\nTestB/c it needs an order\n"
	if got, want := skipFlags(text), []string{"-skip", "^(TestA|TestB/c)$"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := skipFlags("# none\n"); got != nil {
		t.Errorf("got %q, want nothing", got)
	}
}
