package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A gate counts the scenarios of all runs by outcome and tells about those that
// did not pass.
type gate struct {
	out      io.Writer
	expected expectations

	passed, failed, skipped int
	waived                  int // did not pass, as expected
	table                   table
}

// String is the line that the gate ends in.
func (g *gate) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", g.passed, g.failed, g.skipped)
}

func (g *gate) skip(why string) {
	g.skipped++
	fmt.Fprintf(g.out, "    SKIP conformance: %s\n", why)
}

func (g *gate) fail(what, why string) {
	g.failed++
	fmt.Fprintf(g.out, "    FAIL %s\n      %s\n", what, strings.ReplaceAll(strings.TrimSpace(why), "\n", "\n      "))
}

// take counts the scenarios of a run.
func (g *gate) take(r run, outcomes []outcome) {
	if len(outcomes) != r.scenarios {
		g.fail(r.String(), fmt.Sprintf("the suite ran %d scenarios, want %d", len(outcomes), r.scenarios))
	}
	for _, o := range outcomes {
		g.table.set(r, o.scenario, g.judge(r, o))
	}
}

func (g *gate) judge(r run, o outcome) verdict {
	reason := g.expected[expectation{r.leg, o.scenario}]
	switch {
	case len(o.faults) == 0 && reason == "":
		g.passed++
		return passes
	case len(o.faults) > 0 && reason != "":
		g.waived++
		return waived
	case reason != "":
		g.fail(o.scenario, "it passes, but is expected not to: "+reason)
	default:
		g.fail(o.scenario, strings.Join(o.faults, "\n"))
	}
	return fails
}

// close fails expectations of scenarios that no run has, and prints the table.
func (g *gate) close() {
	for _, e := range slices.SortedFunc(maps.Keys(g.expected), expectation.compare) {
		if g.table.verdicts(e.leg, e.scenario) == nil {
			g.fail(e.scenario, fmt.Sprintf("it is expected not to pass, but no run of the %s has it", e.leg))
		}
	}
	g.table.print(g.out, "server")
	g.table.print(g.out, "client")
	if g.waived > 0 {
		fmt.Fprintf(g.out, "\n%d do not pass, as %s says\n", g.waived, expectedFailures)
	}
}
