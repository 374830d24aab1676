package report

import (
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/bench/internal/trial"
)

// A table has a column for each contestant.
type table struct{ strings.Builder }

func (p *page) newTable(first string) *table {
	t := new(table)
	fmt.Fprintf(t, "| %s |", first)
	for _, e := range p.Entries {
		fmt.Fprintf(t, " %s |", e.Name)
	}
	fmt.Fprintf(t, "\n|---|%s\n", strings.Repeat("---:|", len(p.Entries)))
	return t
}

// row asks for the text of each contestant. Empty is a dash.
func (p *page) row(t *table, label string, of func(name string) string) {
	fmt.Fprintf(t, "| %s |", label)
	for _, e := range p.Entries {
		text := of(e.Name)
		if text == "" {
			text = "–"
		}
		fmt.Fprintf(t, " %s |", text)
	}
	t.WriteByte('\n')
}

// rounds returns the outcomes of a contestant for a cell by round. It omits rounds with
// wrong answers, which the page lists as failures.
func (p *page) rounds(name string, c trial.Cell) map[int]trial.Load {
	found := make(map[int]trial.Load)
	for _, l := range p.Loads {
		if l.Name == name && l.Cell == c && l.Failure == "" && l.Wrong == 0 {
			found[l.Round] = l
		}
	}
	return found
}

func perSecond(l trial.Load) float64 { return l.PerSecond }
func cpu(l trial.Load) float64       { return l.CPU }
func p99(l trial.Load) float64       { return l.P99 }

func values(rounds map[int]trial.Load, of func(trial.Load) float64) (all []float64) {
	for _, l := range rounds {
		all = append(all, of(l))
	}
	return all
}

// ratio returns the median over the rounds of the ratio between a contestant and the floor
// in the same round, or 0 if there is none.
func (p *page) ratio(name string, c trial.Cell, of func(trial.Load) float64) float64 {
	floor := p.rounds(trial.Floor, c)
	var all []float64
	for round, l := range p.rounds(name, c) {
		if f, ok := floor[round]; ok && of(f) > 0 {
			all = append(all, of(l)/of(f))
		}
	}
	return trial.Median(all)
}

// cells is the table of throughput and processor time.
func (p *page) cells() string {
	t := p.newTable("cell")
	for _, c := range trial.Table {
		p.row(t, label(c), func(name string) string { return p.share(name, c) })
		if c.Callers == 512 {
			p.row(t, label(c)+": p99", func(name string) string { return p.slowest(name, c) })
		}
	}
	return t.String()
}

func (p *page) share(name string, c trial.Cell) string {
	if name == trial.Floor {
		rounds := p.rounds(name, c)
		return nonzero("%s/s, %.1f µs", trial.Median(values(rounds, perSecond)), trial.Median(values(rounds, cpu)))
	}
	share := p.ratio(name, c, perSecond)
	if share == 0 {
		return ""
	}
	return fmt.Sprintf("**%s** (%.1f×)", two(share), p.ratio(name, c, cpu))
}

func (p *page) slowest(name string, c trial.Cell) string {
	if name == trial.Floor {
		return fmt.Sprintf("%.1f ms", trial.Median(values(p.rounds(name, c), p99))/1e3)
	}
	if r := p.ratio(name, c, p99); r > 0 {
		return fmt.Sprintf("%.1f×", r)
	}
	return ""
}

func nonzero(format string, perSecond, µs float64) string {
	if perSecond == 0 {
		return ""
	}
	return fmt.Sprintf(format, short(perSecond), µs)
}

// two formats small values with two digits.
func two(share float64) string {
	if share < 0.1 {
		return fmt.Sprintf("%.3f", share)
	}
	return fmt.Sprintf("%.2f", share)
}

var modes = map[trial.Mode]string{
	trial.StatelessJSON:   "stateless, JSON",
	trial.StatelessStream: "stateless, event stream",
	trial.SessionJSON:     "sessions, JSON",
	trial.SessionStream:   "sessions, event stream",
	trial.StatelessStdio:  "stdio",
}

func label(c trial.Cell) string {
	what := map[string]string{"echo": "`echo`", "add": "`add`", "big": "100 KiB result", "list": "`tools/list`"}[c.Call]
	if c.Size > 0 {
		what += " of " + short(float64(c.Size)) + "B"
	}
	if c.Tools > 0 {
		what += fmt.Sprintf(", %d tools", c.Tools)
	}
	callers := plural(c.Callers, "connection")
	if c.Mode == trial.StatelessStdio {
		callers = fmt.Sprintf("%d in flight", c.Callers)
	}
	return fmt.Sprintf("%s, %s, %s", modes[c.Mode], what, callers)
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// others returns the table of the figures other than throughput.
func (p *page) others() string {
	t := p.newTable("cost")
	p.row(t, "resident memory of an idle listen stream", p.idle(trial.StatelessJSON))
	p.row(t, "resident memory of an idle session", p.idle(trial.SessionJSON))
	most := trial.Crowds[len(trial.Crowds)-1]
	p.row(t, fmt.Sprintf("processor time of one delivery of an update to %d subscribers", most), p.delivery(most))
	p.row(t, "cold start over stdio, 3 tools", p.start(3))
	p.row(t, "cold start over stdio, 1,003 tools", p.start(1003))
	few, many := trial.BySessions[1], trial.BySessions[len(trial.BySessions)-1]
	p.row(t, fmt.Sprintf("slowdown with %s sessions open instead of 8", short(float64(many.Sessions))), func(name string) string {
		slow := trial.Median(values(p.rounds(name, few), perSecond)) / trial.Median(values(p.rounds(name, many), perSecond))
		if slow > 0 && slow < 1e6 {
			return fmt.Sprintf("%.2f×", slow)
		}
		return ""
	})
	return t.String()
}

func (p *page) idle(m trial.Mode) func(string) string {
	return func(name string) string {
		for _, i := range p.Idle {
			if i.Name == name && i.Mode == m && i.Failure == "" {
				return fmt.Sprintf("%.1f KB", i.Bytes/1e3)
			}
		}
		return ""
	}
}

func (p *page) delivery(subscribers int) func(string) string {
	return func(name string) string {
		for _, f := range p.Fanouts {
			if f.Name == name && f.Subscribers == subscribers && f.Failure == "" {
				return fmt.Sprintf("%.1f µs", f.CPU)
			}
		}
		return ""
	}
}

func (p *page) start(tools int) func(string) string {
	return func(name string) string {
		for _, s := range p.Starts {
			if s.Name == name && s.Tools == tools && s.Failure == "" {
				return fmt.Sprintf("%.1f ms", s.Took)
			}
		}
		return ""
	}
}
