package main

import (
	"fmt"
	"io"
	"strings"
)

// A verdict says how a scenario ended in a run.
type verdict string

const (
	passes verdict = "pass"
	waived verdict = "expected" // does not pass, as expected
	fails  verdict = "FAIL"
)

// A table says in its rows how scenarios ended, in the order in which they
// appeared.
type table []row

type row struct {
	leg, scenario string
	verdicts      map[run]verdict
}

// set puts in a verdict. A failure stays: one that comes only sometimes is one.
func (t *table) set(r run, scenario string, v verdict) {
	verdicts := t.verdicts(r.leg, scenario)
	if verdicts == nil {
		verdicts = make(map[run]verdict)
		*t = append(*t, row{r.leg, scenario, verdicts})
	}
	if verdicts[r] != fails {
		verdicts[r] = v
	}
}

// verdicts returns those of a scenario, or nil when it has not appeared.
func (t *table) verdicts(leg, scenario string) map[run]verdict {
	for _, row := range *t {
		if row.leg == leg && row.scenario == scenario {
			return row.verdicts
		}
	}
	return nil
}

// print prints the rows of a leg, with a column for each of its runs.
func (t *table) print(out io.Writer, leg string) {
	line := func(name string, text func(run) string) {
		columns := fmt.Sprintf("%-46s", name)
		for _, r := range runs {
			if r.leg == leg {
				columns += fmt.Sprintf(" %-12s", text(r))
			}
		}
		fmt.Fprintln(out, strings.TrimRight(columns, " "))
	}
	fmt.Fprintln(out)
	line(leg, func(r run) string { return r.choice })
	line("", func(r run) string { return r.value })
	for _, row := range *t {
		if row.leg == leg {
			line(row.scenario, func(r run) string { return string(row.verdicts[r]) })
		}
	}
}
