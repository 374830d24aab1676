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

// ratio returns the spread over the rounds of the ratio between a contestant and the floor
// in the same round, which is zero if there is none.
func (p *page) ratio(name string, c trial.Cell, of func(trial.Load) float64) trial.Spread {
	floor := p.rounds(trial.Floor, c)
	var all []float64
	for round, l := range p.rounds(name, c) {
		if f, ok := floor[round]; ok && of(f) > 0 {
			all = append(all, of(l)/of(f))
		}
	}
	return trial.SpreadOf(all)
}

// ranged writes the median and, behind it, the smallest and the largest value; "" for a spread of nothing.
func ranged(s trial.Spread, median string, text func(float64) string) string {
	if s == (trial.Spread{}) {
		return ""
	}
	return fmt.Sprintf(median, text(s.Median)) + " " + text(s.Min) + "–" + text(s.Max)
}

// format returns a function that writes a value.
func format(layout string) func(float64) string {
	return func(v float64) string { return fmt.Sprintf(layout, v) }
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
		if len(rounds) == 0 {
			return ""
		}
		return fmt.Sprintf("%s, %.1f µs", ranged(trial.SpreadOf(values(rounds, perSecond)), "%s/s", short), trial.Median(values(rounds, cpu)))
	}
	share := ranged(p.ratio(name, c, perSecond), "**%s**", two)
	if share == "" {
		return ""
	}
	return fmt.Sprintf("%s (%.1f×)", share, p.ratio(name, c, cpu).Median)
}

func (p *page) slowest(name string, c trial.Cell) string {
	if name == trial.Floor {
		return ranged(trial.SpreadOf(values(p.rounds(name, c), p99)), "%s ms", func(µs float64) string { return fmt.Sprintf("%.1f", µs/1e3) })
	}
	return ranged(p.ratio(name, c, p99), "%s×", format("%.1f"))
}

// processors is the table of calls per second with one processor and with two, and the ratio between them in the same round.
func (p *page) processors() string {
	t := p.newTable("`GOMAXPROCS`")
	one, two := trial.ByProcs[0], trial.ByProcs[1]
	for _, c := range trial.ByProcs {
		p.row(t, fmt.Sprint(c.Procs), func(name string) string {
			return ranged(trial.SpreadOf(values(p.rounds(name, c), perSecond)), "%s/s", short)
		})
	}
	p.row(t, "2 instead of 1", func(name string) string {
		var all []float64
		single := p.rounds(name, one)
		for round, l := range p.rounds(name, two) {
			if s, ok := single[round]; ok && s.PerSecond > 0 {
				all = append(all, l.PerSecond/s.PerSecond)
			}
		}
		return ranged(trial.SpreadOf(all), "**%s×**", format("%.2f"))
	})
	return t.String()
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
		var all []float64
		open := p.rounds(name, many)
		for round, l := range p.rounds(name, few) {
			if m, ok := open[round]; ok && m.PerSecond > 0 {
				all = append(all, l.PerSecond/m.PerSecond)
			}
		}
		return ranged(trial.SpreadOf(all), "%s×", format("%.2f"))
	})
	return t.String()
}

func (p *page) idle(m trial.Mode) func(string) string {
	return func(name string) string {
		for _, i := range p.Idle {
			if i.Name == name && i.Mode == m && i.Failure == "" {
				return ranged(i.Bytes, "%s KB", func(bytes float64) string { return fmt.Sprintf("%.1f", bytes/1e3) })
			}
		}
		return ""
	}
}

func (p *page) delivery(subscribers int) func(string) string {
	return func(name string) string {
		for _, f := range p.Fanouts {
			if f.Name == name && f.Subscribers == subscribers && f.Failure == "" {
				return ranged(f.CPU, "%s µs", format("%.1f"))
			}
		}
		return ""
	}
}

func (p *page) start(tools int) func(string) string {
	return func(name string) string {
		for _, s := range p.Starts {
			if s.Name == name && s.Tools == tools && s.Failure == "" {
				return ranged(s.Took, "%s ms", format("%.1f"))
			}
		}
		return ""
	}
}
