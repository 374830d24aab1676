package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A tally counts checks by outcome, prints those that did not pass, and keeps them for the report.
type tally struct {
	counts
	permitted int           // of the skipped checks, those that may be skipped in .ci/run
	claims    []string      // of tests that passed; see package internal/claim
	cpu       time.Duration // user and system time of the commands that ended
	slow      []string      // lines about steps that took longer than their budgets
	out       io.Writer
	problems  []problem
}

type counts struct{ passed, failed, skipped int }

// String returns the last line of a run.
func (t *tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

// ok reports whether no check failed and, with failOnSkip, whether no check was skipped
// that may not be.
func (t *tally) ok(failOnSkip bool) bool {
	return t.failed == 0 && (!failOnSkip || t.skipped == t.permitted)
}

// spend adds the processor time of a command and its children. A command that did not
// start has no state.
func (t *tally) spend(state *os.ProcessState) {
	if state != nil {
		t.cpu += state.UserTime() + state.SystemTime()
	}
}

// add prints a problem and keeps it for the report.
func (t *tally) add(kind string, p problem) {
	p.kind = kind
	fmt.Fprintf(t.out, "    %s %s\n%s", kind, p.subject, indent(p.output))
	t.problems = append(t.problems, p)
}

func (t *tally) fail(p problem) {
	t.failed++
	t.add("FAIL", p)
}

func (t *tally) skip(p problem) {
	t.skipped++
	t.add("SKIP", p)
}

// skipPermitted counts a skip that .ci/run permits. It is no problem.
func (t *tally) skipPermitted(name, output string) {
	t.skipped++
	t.permitted++
	fmt.Fprintf(t.out, "    SKIP, which is permitted: %s\n%s", name, indent(output))
}

// count adds the results of a step. A test that failed, and passed when it was repeated, is
// flaky: it has passed, and the report names it. A package that failed by itself counts as one
// failure, also if it passed when its tests were repeated.
func (t *tally) count(s *results, of step) {
	for _, v := range s.verdicts {
		fmt.Fprint(t.out, indent(v))
	}
	for _, r := range s.list {
		p := problem{step: of.name, subject: strings.TrimSpace(r.pkg + " " + r.test), alone: of.alone(r), output: r.output}
		switch {
		case r.hard:
			p.output = r.failures[0]
			t.fail(p)
		case r.test == "": // a package whose tests are counted
		case r.last == "skip":
			t.skip(p)
		case r.last == "fail":
			t.fail(p)
		default:
			t.passed++
			t.claims = append(t.claims, r.claims...)
			if len(r.failures) > 0 {
				p.output = r.failures[0] + "--- repeated alone, it passed:\n" + r.output
				t.add("FLAKY", p)
			}
		}
	}
}

func indent(text string) string {
	if text == "" {
		return ""
	}
	text = strings.TrimSuffix(text, "\n")
	return "      " + strings.ReplaceAll(text, "\n", "\n      ") + "\n"
}
