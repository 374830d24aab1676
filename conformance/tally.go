package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A tally counts the scenarios of all runs by outcome and prints those that did not pass.
type tally struct {
	out      io.Writer
	expected expectations

	passed, failed, skipped int
	failedAsExpected        int
	problems                []string // what failed or was skipped, as it is printed
	table                   table
}

// String is the last line of output.
func (g *tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", g.passed, g.failed, g.skipped)
}

func (g *tally) skip(why string) {
	g.skipped++
	g.add(fmt.Sprintf("    SKIP conformance: %s\n", why))
}

func (g *tally) add(problem string) {
	fmt.Fprint(g.out, problem)
	g.problems = append(g.problems, problem)
}

func (g *tally) fail(what, why string) {
	g.failed++
	g.add(fmt.Sprintf("    FAIL %s\n      %s\n", what, strings.ReplaceAll(strings.TrimSpace(why), "\n", "\n      ")))
}

// take adds the scenarios of a run.
func (g *tally) take(r run, outcomes []outcome) {
	if len(outcomes) != r.scenarios {
		g.fail(r.String(), fmt.Sprintf("the suite ran %d scenarios, want %d", len(outcomes), r.scenarios))
	}
	for _, o := range outcomes {
		g.table.set(r, o.scenario, g.judge(r, o))
	}
}

func (g *tally) judge(r run, o outcome) verdict {
	reason := g.expected[expectation{r.role, o.scenario}]
	switch {
	case len(o.problems) == 0 && reason == "":
		g.passed++
		return passes
	case len(o.problems) > 0 && reason != "":
		g.failedAsExpected++
		return expectedFailure
	case reason != "":
		g.fail(o.scenario, "it passes, but is expected not to: "+reason)
	default:
		g.fail(o.scenario, strings.Join(o.problems, "\n"))
	}
	return fails
}

// close reports expectations of scenarios that no run has, and prints the table.
func (g *tally) close() {
	for _, e := range slices.SortedFunc(maps.Keys(g.expected), expectation.compare) {
		if g.table.verdicts(e.role, e.scenario) == nil {
			g.fail(e.scenario, fmt.Sprintf("it is expected not to pass, but no run of the %s has it", e.role))
		}
	}
	g.table.print(g.out, "server")
	g.table.print(g.out, "client")
	if g.failedAsExpected > 0 {
		fmt.Fprintf(g.out, "\n%d do not pass, as %s says\n", g.failedAsExpected, expectedFailures)
	}
}
