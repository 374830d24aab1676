package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A step is one command and the way its outcome is counted.
type step struct {
	name    string
	env     []string // added to the environment
	dir     string   // where the command runs; empty: the root of the project
	command []string
	outcome outcome
	// packages are those that a go test command tests, whose failed tests are repeated once, alone.
	// Without them the command is run as it is, and nothing is repeated.
	packages []string
	missing  string // what this machine lacks; if not empty, the step is skipped
	claims   bool   // the command reads from standard input what the earlier tests claimed
	// maySkip permits the step to be skipped in .ci/run.
	maySkip bool
	mutants []mutant
}

type outcome int

const (
	exits0   outcome = iota // one check, passed when the command succeeds
	silent                  // one check, passed when the command prints nothing
	testJSON                // as many checks as go test -json reports
	counted                 // as many checks as the last line says, which is one of counts
	caught                  // one check for each mutant, passed when tests fail on it
)

func (s step) run(t *tally) {
	fmt.Fprintf(t.out, "==> %s\n", s.name)
	switch {
	case s.missing != "" && s.maySkip:
		t.skipPermitted(s.name, s.missing)
		return
	case s.missing != "":
		t.skip(problem{step: s.name, subject: s.name, output: s.missing})
		return
	case s.claims && t.failed > 0:
		t.skip(problem{step: s.name, subject: s.name, output: "an earlier check failed, so the list of what tests show is not complete"})
		return
	}
	began, before := time.Now(), t.cpu
	switch s.outcome {
	case testJSON:
		s.runTests(t)
	case counted:
		s.runCounted(t)
	case caught:
		s.runMutants(t)
	default:
		s.runCheck(t)
	}
	took := time.Since(began)
	fmt.Fprintf(t.out, "    %.1fs, %.1fs of CPU\n", took.Seconds(), (t.cpu - before).Seconds())
	if budget, has := budgetOf(budgets, s.name); has && took > budget {
		t.slow = append(t.slow, fmt.Sprintf("%s took %.0f s; its budget on two cores is %.0f s", s.name, took.Seconds(), budget.Seconds()))
	}
}

// problem is the failure of the step itself.
func (s step) problem(output string, err error) problem {
	command := strings.Join(slices.Concat(s.env, s.command, s.packages), " ")
	if err != nil {
		output += fmt.Sprintf("%s: %v", strings.Join(s.command, " "), err)
	}
	return problem{step: s.name, subject: s.name, alone: command, output: output}
}

func (s step) newCmd(command []string) *exec.Cmd {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), s.env...)
	return cmd
}

func (s step) runCheck(t *tally) {
	cmd := s.newCmd(s.command)
	if s.claims {
		cmd.Stdin = strings.NewReader(strings.Join(t.claims, "\n"))
	}
	output, err := cmd.CombinedOutput()
	t.spend(cmd.ProcessState)
	switch {
	case err != nil:
		t.fail(s.problem(string(output), err))
	case s.outcome == silent && len(output) > 0:
		t.fail(s.problem(string(output), nil))
	default:
		t.passed++
	}
}

// runCounted adds the counts in the last line of the command's output. If there are failures or
// skips among them, the output is one problem of the report.
func (s step) runCounted(t *tally) {
	var printed bytes.Buffer
	cmd := s.newCmd(s.command)
	cmd.Stdout = io.MultiWriter(t.out, &printed)
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	t.spend(cmd.ProcessState)
	lines := strings.Split(strings.TrimSpace(printed.String()), "\n")
	var c counts
	_, scanned := fmt.Sscanf(lines[len(lines)-1], "%d passed, %d failed, %d skipped", &c.passed, &c.failed, &c.skipped)
	t.passed += c.passed
	switch {
	case scanned != nil || err != nil && c.failed+c.skipped == 0:
		t.fail(s.problem(printed.String(), err))
	case c.failed > 0:
		t.fail(s.problem(printed.String(), nil))
		t.failed += c.failed - 1
		t.skipped += c.skipped
	case c.skipped > 0:
		t.skip(s.problem(printed.String(), nil))
		t.skipped += c.skipped - 1
	}
}

// runner is gotestsum, which prints the progress of tests, repeats those that failed, and writes
// the events of all attempts to a file. The path is relative to the root of the project.
var runner = []string{filepath.Join("bin", "tools", "gotestsum")}

// maxRepeated is how many tests of a step may fail and be repeated. More are no accident.
const maxRepeated = 5

// runTests counts the tests that the command reports. The step itself fails when the
// command fails without a failed test, and when no test ran.
func (s step) runTests(t *tally) {
	events, err := os.CreateTemp("", "checks-*.json")
	if err != nil {
		t.fail(s.problem("", err))
		return
	}
	defer os.Remove(events.Name())
	defer events.Close()
	var printed bytes.Buffer
	cmd := s.newCmd(s.testCommand(events.Name()))
	cmd.Stdout = io.MultiWriter(t.out, &printed)
	cmd.Stderr = cmd.Stdout
	err = cmd.Run()
	t.spend(cmd.ProcessState)
	before := t.counts
	t.count(readResults(events), s)
	switch {
	case err != nil && t.failed == before.failed:
		t.fail(s.problem(printed.String(), err))
	case t.counts == before:
		t.fail(s.problem("no test ran", nil))
	}
}

// testCommand has gotestsum run the command and write the events to a file. A data race, a panic, a
// time limit and a build that fails are never repeated; see go tool gotestsum -help.
func (s step) testCommand(events string) []string {
	command := append(slices.Clone(runner), "--format=standard-quiet", "--hide-summary=all", "--jsonfile="+events)
	if timings != "" {
		command = append(command, "--jsonfile-timing-events="+filepath.Join(timings, strings.ReplaceAll(s.name, " ", "-")+".json"))
	}
	if s.packages == nil {
		return slices.Concat(command, []string{"--raw-command", "--"}, s.command)
	}
	command = append(command, "--rerun-fails=1", fmt.Sprintf("--rerun-fails-max-failures=%d", maxRepeated),
		"--rerun-fails-abort-on-data-race", "--rerun-fails-run-root-test", "--packages="+strings.Join(s.packages, " "), "--")
	if strict() {
		command = append(command, "-count=1")
	}
	command = append(command, fmt.Sprintf("-p=%d", runtime.NumCPU()+1)) // many tests wait for something most of the time
	return append(command, s.command[2:]...)                            // without go test
}

// alone returns the command that runs one test, or the tests of one package.
func (s step) alone(r *result) string {
	if s.packages == nil {
		return strings.Join(slices.Concat(s.env, s.command), " ")
	}
	command := slices.Concat(s.env, s.command, words("-count=1 -v"))
	if s.dir != "" {
		command = slices.Concat(words("cd "+s.dir+" &&"), command)
	}
	if r.test != "" {
		var pattern []string
		for _, name := range strings.Split(r.test, "/") {
			pattern = append(pattern, "^"+regexp.QuoteMeta(name)+"$")
		}
		command = append(command, "-run", "'"+strings.Join(pattern, "/")+"'")
	}
	return strings.Join(append(command, r.pkg), " ")
}
