package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	runner = words("go tool gotestsum")
	os.Exit(m.Run())
}

// take counts a stream that is the output of no step.
func (t *tally) take(stream string) { t.count(readResults(strings.NewReader(stream)), step{}) }

func TestTallyCountsEachTestOnce(t *testing.T) {
	tests := []struct {
		name, stream, want string
	}{
		{"a pass, a failure and a skip", `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN TestA\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}`, "1 passed, 1 failed, 1 skipped"},
		{"a package that fails by itself", `
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`, "1 passed, 1 failed, 0 skipped"},
		{"a test that passes when it is repeated", `
{"Action":"start","Package":"p"}
{"Action":"fail","Package":"p","Test":"TestA/b"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}
{"Action":"start","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestA/b"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`, "3 passed, 0 failed, 0 skipped"},
		{"a test that fails again", `
{"Action":"start","Package":"p"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
{"Action":"start","Package":"p"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`, "0 passed, 1 failed, 0 skipped"},
		{"a package that leaks and whose tests pass when they are repeated", `
{"Action":"start","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
{"Action":"start","Package":"p"}
{"Action":"pass","Package":"p"}`, "1 passed, 1 failed, 0 skipped"},
		{"a package that does not build", `
{"Action":"build-output","ImportPath":"p","Output":"x.go:1:1: expected package\n"}
{"Action":"build-fail","ImportPath":"p"}
{"Action":"fail","Package":"p","FailedBuild":"p"}`, "0 passed, 1 failed, 0 skipped"},
		{"a package without tests", `
{"Action":"skip","Package":"p"}`, "0 passed, 0 failed, 0 skipped"},
		{"lines that are no events", `
{"Action":"pass","Package":"p","Test":"TestA"}
go: downloading something`, "1 passed, 0 failed, 0 skipped"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			total := tally{out: t.Output()}
			total.take(test.stream)
			if got := total.String(); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestFailureShowsItsOutput(t *testing.T) {
	var out strings.Builder
	total := tally{out: &out}
	total.take(`
{"Action":"output","Package":"p","Test":"TestA","Output":"got 1,"}
{"Action":"output","Package":"p","Test":"TestA","Output":" want 2\n"}
{"Action":"fail","Package":"p","Test":"TestA"}`)
	if want := "FAIL p TestA\n      got 1, want 2\n"; !strings.Contains(out.String(), want) {
		t.Errorf("got %q, want it to contain %q", out.String(), want)
	}
}

func TestStepWithoutTestsFails(t *testing.T) {
	total := tally{out: t.Output()}
	step{name: "empty", command: words("go version"), outcome: testJSON}.run(&total)
	if got, want := total.String(), "0 passed, 1 failed, 0 skipped"; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSilentStepFailsIfItPrints(t *testing.T) {
	total := tally{out: t.Output()}
	step{name: "loud", command: words("go version"), outcome: silent}.run(&total)
	step{name: "lacking", missing: "a tool"}.run(&total)
	step{name: "fine", command: words("go version")}.run(&total)
	if got, want := total.String(), "1 passed, 1 failed, 1 skipped"; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOnlyPassedTestsClaim(t *testing.T) {
	total := tally{out: t.Output()}
	total.take(`
{"Action":"attr","Package":"p","Test":"TestA","Key":"shows","Value":"R-001"}
{"Action":"attr","Package":"p","Test":"TestB","Key":"shows","Value":"R-002"}
{"Action":"attr","Package":"p","Test":"TestC","Key":"shows","Value":"R-003"}
{"Action":"attr","Package":"p","Test":"TestA","Key":"other","Value":"R-004"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestC"}`)
	if got, want := total.claims, []string{"R-001\tp\tTestA"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestClaimsArePassedToTheStep(t *testing.T) {
	var out strings.Builder
	total := tally{out: &out, claims: []string{"a", "b"}}
	show := step{name: "show", command: words("cat"), outcome: silent, claims: true}
	show.run(&total)
	show.run(&total) // after a failure
	if got, want := total.String(), "0 passed, 1 failed, 1 skipped"; got != want || !strings.Contains(out.String(), "a\n      b\n") {
		t.Errorf("got %v and %q, want %v and the claims", got, out.String(), want)
	}
}

func TestOnlyAPermittedSkipPassesWhereSkipsFail(t *testing.T) {
	total := tally{out: t.Output()}
	step{name: "asks a database", missing: "it cannot be reached", maySkip: true}.run(&total)
	if !total.ok(true) || total.skipped != 1 {
		t.Errorf("got %s, want it to pass", &total)
	}
	step{name: "needs a compiler", missing: "there is none"}.run(&total)
	if total.ok(true) || !total.ok(false) {
		t.Errorf("got %s, want it to pass only where skips do", &total)
	}
}

func TestVerdictsOfTestsAreShown(t *testing.T) {
	var out strings.Builder
	total := tally{out: &out}
	total.take(`{"Action":"attr","Package":"p","Test":"TestA","Key":"verdict","Value":"7 of 7"}`)
	if got, want := out.String(), "      7 of 7\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
