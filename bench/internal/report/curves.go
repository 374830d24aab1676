package report

import (
	"slices"

	"github.com/fondaco/fondaco/bench/internal/trial"
)

// A curve is a chart with a file of its own.
type curve struct {
	file, caption string
	chart
}

func (p *page) curves() []curve {
	lists := func(c trial.Cell) bool { return c.Call == "list" }
	calls := func(c trial.Cell) bool { return c.Call == "echo" }
	tools := func(c trial.Cell) float64 { return float64(c.Tools) }
	return []curve{
		{"sessions.svg", "Sessions that are open, era 2025-11-25: calls of echo over 8 connections, which take turns at all sessions.", chart{
			"Calls per second with many sessions", "sessions", "calls/s",
			p.throughput(trial.BySessions, func(c trial.Cell) float64 { return float64(c.Sessions) }),
		}},
		{"tools-called.svg", "Tools that are registered: calls of one of them over 8 connections.", chart{
			"Calls per second with many tools", "tools", "calls/s",
			p.throughput(slices.DeleteFunc(slices.Clone(trial.ByTools), lists), tools),
		}},
		{"tools-listed.svg", "Tools that are registered: lists of all of them in one page, over one connection.", chart{
			"Lists per second of many tools", "tools", "lists/s",
			p.throughput(slices.DeleteFunc(slices.Clone(trial.ByTools), calls), tools),
		}},
		{"messages.svg", "Bytes of text that are echoed over one connection.", chart{
			"Calls per second with large messages", "bytes", "calls/s",
			p.throughput(trial.BySize, func(c trial.Cell) float64 { return float64(c.Size) }),
		}},
		{"subscribers.svg", "Subscribers of one resource: processor time of the server for each delivery of one update.", chart{
			"Processor time of one delivery", "subscribers", "µs",
			p.deliveries(),
		}},
	}
}

func (p *page) throughput(cells []trial.Cell, x func(trial.Cell) float64) (lines []line) {
	for _, e := range p.Entries {
		l := line{name: e.Name}
		for _, c := range cells {
			if y := trial.Median(values(p.rounds(e.Name, c), perSecond)); y > 0 {
				l.points = append(l.points, point{x(c), y})
			}
		}
		if len(l.points) > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}

func (p *page) deliveries() (lines []line) {
	for _, e := range p.Entries {
		l := line{name: e.Name}
		for _, f := range p.Fanouts {
			if f.Name == e.Name && f.CPU.Median > 0 {
				l.points = append(l.points, point{float64(f.Subscribers), f.CPU.Median})
			}
		}
		if len(l.points) > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}
