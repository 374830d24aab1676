package main

import (
	"fmt"
	"io"
	"strings"
)

// A verdict is the result of a scenario in a run.
type verdict string

const (
	passes          verdict = "pass"
	expectedFailure verdict = "expected" // an expected failure
	fails           verdict = "FAIL"
)

// A table has a row for each scenario, in the order in which they first ran.
type table []row

type row struct {
	leg, scenario string
	verdicts      map[run]verdict
}

// set adds a verdict. A failure is not overwritten, so that intermittent failures count.
func (t *table) set(r run, scenario string, v verdict) {
	verdicts := t.verdicts(r.role, scenario)
	if verdicts == nil {
		verdicts = make(map[run]verdict)
		*t = append(*t, row{r.role, scenario, verdicts})
	}
	if verdicts[r] != fails {
		verdicts[r] = v
	}
}

// verdicts returns the verdicts of a scenario, nil if it has none.
func (t *table) verdicts(role, scenario string) map[run]verdict {
	for _, row := range *t {
		if row.leg == role && row.scenario == scenario {
			return row.verdicts
		}
	}
	return nil
}

// print prints the rows of a role, with a column for each of its runs.
func (t *table) print(out io.Writer, role string) {
	line := func(name string, text func(run) string) {
		columns := fmt.Sprintf("%-46s", name)
		for _, r := range runs {
			if r.role == role {
				columns += fmt.Sprintf(" %-12s", text(r))
			}
		}
		fmt.Fprintln(out, strings.TrimRight(columns, " "))
	}
	fmt.Fprintln(out)
	line(role, func(r run) string { return r.option })
	line("", func(r run) string { return r.value })
	for _, row := range *t {
		if row.leg == role {
			line(row.scenario, func(r run) string { return string(row.verdicts[r]) })
		}
	}
}
