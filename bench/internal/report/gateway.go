package report

import (
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/bench/internal/load"
	"github.com/fondaco/fondaco/bench/internal/trial"
)

// gateway returns the table of the cost of the host, empty when it was not measured.
func (p *page) gateway() string {
	var turns []trial.Turn
	var done []trial.Gateway
	for _, g := range p.Gateways {
		if g.Failure == "" {
			turns, done = append(turns, g.Turns...), append(done, g)
		}
	}
	if len(done) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| at half load | reverse proxy | gateway | difference |\n|---|---:|---:|---:|\n")
	for _, row := range []struct {
		label string
		of    func(load.Outcome) float64 // in microseconds
	}{
		{"p50 of a call", func(o load.Outcome) float64 { return o.Median }},
		{"p99 of a call", func(o load.Outcome) float64 { return o.P99 }},
		{"processor time of a call", func(o load.Outcome) float64 { return o.CPU }},
	} {
		middle := func(of func(trial.Turn) float64) float64 { return median(turns, of) / 1e3 }
		fmt.Fprintf(&b, "| %s | %.2f ms | %.2f ms | %s |\n", row.label,
			middle(func(t trial.Turn) float64 { return row.of(t.Proxy) }),
			middle(func(t trial.Turn) float64 { return row.of(t.Host) }),
			ranged(spread(turns, func(t trial.Turn) float64 { return (row.of(t.Host) - row.of(t.Proxy)) / 1e3 }), "**%s ms**", format("%+.2f")))
	}
	tools := trial.Behind * (3 + trial.ToolsOfEach)
	b.WriteString("\n| the gateway | |\n|---|---:|\n")
	fmt.Fprintf(&b, "| calls relayed when nobody pauses | %s |\n", ranged(spread(done, func(g trial.Gateway) float64 { return g.Full.PerSecond }), "%s/s", short))
	fmt.Fprintf(&b, "| lists of the %d tools of %d servers | %s, %s of a fondaco server with as many tools |\n", tools, trial.Behind,
		ranged(spread(done, func(g trial.Gateway) float64 { return g.Merged.PerSecond }), "%s/s", short),
		ranged(spread(done, func(g trial.Gateway) float64 { return g.Merged.PerSecond / g.Direct.PerSecond }), "**%s**", two))
	fmt.Fprintf(&b, "| resident memory with %d servers over stdio, idle | %s |\n", trial.Behind,
		ranged(spread(done, func(g trial.Gateway) float64 { return float64(g.Resident) / 1e6 }), "%s MB", format("%.1f")))
	fmt.Fprintf(&b, "| start, until %d servers are ready | %s, %s to those servers alone |\n", trial.Behind,
		ranged(spread(done, func(g trial.Gateway) float64 { return g.Started }), "%s ms", format("%.0f")),
		ranged(spread(done, func(g trial.Gateway) float64 { return g.Started - g.Servers }), "**%s ms**", format("%+.0f")))
	return b.String()
}

func median[T any](all []T, of func(T) float64) float64 { return spread(all, of).Median }

func spread[T any](all []T, of func(T) float64) trial.Spread {
	values := make([]float64, len(all))
	for i, v := range all {
		values[i] = of(v)
	}
	return trial.SpreadOf(values)
}
