package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A step is one command and the way to read its outcome.
type step struct {
	name    string
	env     []string // added to the environment
	dir     string   // where the command runs; empty: the root of the project
	command []string
	outcome outcome
	missing string // not empty: what this machine lacks, so that the step is skipped
	claims  bool   // the command reads what the tests before it claimed
	// pardoned is a step whose skip is no fault where no other may be skipped.
	pardoned bool
	mutant   *mutant
}

type outcome int

const (
	exits0   outcome = iota // one check, passed when the command succeeds
	silent                  // one check, passed when the command prints nothing
	testJSON                // as many checks as go test -json reports
	caught                  // one check, passed when tests fail on the mutant
)

func (s step) run(t *tally) {
	fmt.Fprintf(t.out, "==> %s\n", s.name)
	if s.missing != "" {
		s.skip(t)
		return
	}
	if s.claims && t.failed > 0 {
		t.skip(s.name, "a check failed, so it is not known what the tests show")
		return
	}
	began := time.Now()
	switch s.outcome {
	case testJSON:
		s.runTests(t, s.cmd())
	case caught:
		s.runMutant(t)
	default:
		s.runCheck(t)
	}
	fmt.Fprintf(t.out, "    %.1fs\n", time.Since(began).Seconds())
}

func (s step) skip(t *tally) {
	if !s.pardoned {
		t.skip(s.name, s.missing)
		return
	}
	t.pardon(s.name, s.missing)
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
	switch {
	case err != nil:
		t.fail(s.name, fmt.Sprintf("%s%s: %v", output, strings.Join(s.command, " "), err))
	case s.outcome == silent && len(output) > 0:
		t.fail(s.name, string(output))
	default:
		t.passed++
	}
}

// runTests blames the step itself when the command fails without a failed test,
// and when no test ran at all.
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
	}
	switch {
	case err != nil && t.failed == before.failed:
		t.fail(s.name, fmt.Sprintf("%s: %v", strings.Join(s.command, " "), err))
	case t.counts == before:
		t.fail(s.name, "no test ran")
	}
}
