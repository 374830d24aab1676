package main

import (
	"fmt"
	"os"
	"os/exec"
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
	missing string // what this machine lacks; if not empty, the step is skipped
	claims  bool   // the command reads from standard input what the earlier tests claimed
	// maySkip permits the step to be skipped in .ci/run.
	maySkip bool
	mutants []mutant
}

type outcome int

const (
	exits0   outcome = iota // one check, passed when the command succeeds
	silent                  // one check, passed when the command prints nothing
	testJSON                // as many checks as go test -json reports
	caught                  // one check for each mutant, passed when tests fail on it
)

func (s step) run(t *tally) {
	fmt.Fprintf(t.out, "==> %s\n", s.name)
	if s.missing != "" {
		s.skip(t)
		return
	}
	if s.claims && t.failed > 0 {
		t.skip(s.name, "an earlier check failed, so the list of what tests show is not complete")
		return
	}
	began, before := time.Now(), t.cpu
	switch s.outcome {
	case testJSON:
		s.runTests(t, s.cmd())
	case caught:
		s.runMutants(t)
	default:
		s.runCheck(t)
	}
	fmt.Fprintf(t.out, "    %.1fs, %.1fs of CPU\n", time.Since(began).Seconds(), (t.cpu - before).Seconds())
}

func (s step) skip(t *tally) {
	if s.maySkip {
		t.skipPermitted(s.name, s.missing)
		return
	}
	t.skip(s.name, s.missing)
}

func (s step) cmd() *exec.Cmd {
	cmd := exec.Command(s.command[0], s.command[1:]...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), s.env...)
	return cmd
}

func (s step) runCheck(t *tally) {
	cmd := s.cmd()
	if s.claims {
		cmd.Stdin = strings.NewReader(strings.Join(t.claims, "\n"))
	}
	output, err := cmd.CombinedOutput()
	t.spend(cmd.ProcessState)
	switch {
	case err != nil:
		t.fail(s.name, fmt.Sprintf("%s%s: %v", output, strings.Join(s.command, " "), err))
	case s.outcome == silent && len(output) > 0:
		t.fail(s.name, string(output))
	default:
		t.passed++
	}
}

// runTests counts the tests that the command reports. The step itself fails when the
// command fails without a failed test, and when no test ran.
func (s step) runTests(t *tally, cmd *exec.Cmd) {
	before := t.counts
	stdout, err := cmd.StdoutPipe()
	cmd.Stderr = t.out
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		t.read(stdout)
		err = cmd.Wait()
		t.spend(cmd.ProcessState)
	}
	switch {
	case err != nil && t.failed == before.failed:
		t.fail(s.name, fmt.Sprintf("%s: %v", strings.Join(s.command, " "), err))
	case t.counts == before:
		t.fail(s.name, "no test ran")
	}
}
