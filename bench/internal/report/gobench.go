package report

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A sample is the fastest run of one Go benchmark, and the time of the slowest one.
type sample struct{ ns, slowest, bytes, allocs float64 }

var benchLine = regexp.MustCompile(`^Benchmark(\w+)/call=(\w+)/sdk=([\w-]+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op\s+([\d.]+) B/op\s+([\d.]+) allocs/op`)

// goBenchmarks is the table of what go test -bench printed.
func goBenchmarks(printed string) string {
	samples := make(map[string]map[string]sample)
	var order []string
	for l := range strings.Lines(printed) {
		m := benchLine.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		name := m[1] + ", " + m[2]
		if samples[name] == nil {
			samples[name] = make(map[string]sample)
			order = append(order, name)
		}
		s := sample{number(m[4]), number(m[4]), number(m[5]), number(m[6])}
		if old, ok := samples[name][m[3]]; ok {
			slowest := max(s.slowest, old.slowest)
			if old.ns <= s.ns {
				s = old
			}
			s.slowest = slowest
		}
		samples[name][m[3]] = s
	}
	sdks := []string{"fondaco", "go-sdk", "mcp-go"}
	var b strings.Builder
	fmt.Fprintf(&b, "| benchmark | %s |\n|---|%s\n", strings.Join(sdks, " | "), strings.Repeat("---:|", len(sdks)))
	for _, name := range slices.Compact(order) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, sdk := range sdks {
			fmt.Fprintf(&b, " %s |", samples[name][sdk])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (s sample) String() string {
	if s.ns == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f–%.1f µs, %.1f KB, %.0f allocs", s.ns/1e3, s.slowest/1e3, s.bytes/1e3, s.allocs)
}

func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64) // digits, says the pattern
	return n
}
