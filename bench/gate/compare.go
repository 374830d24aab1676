package main

import (
	"encoding/csv"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A check is one comparison. Its fault is empty when it passed.
type check struct{ name, fault string }

// A change is a line of benchstat.
type change struct {
	name, unit string
	percent    float64 // 0: none that it is sure of
}

// tolerance is the permitted increase in percent, by unit.
var tolerance = map[string]float64{"sec/op": 10, "B/op": 5}

var (
	allocsLine = regexp.MustCompile(`(?m)^Benchmark(\S+)\s.*?(\d+) allocs/op$`)
	cpuLine    = regexp.MustCompile(`(?m)^cpu: (.*)$`)
)

// allocations returns, by benchmark, how many each of its runs made, least first.
func allocations(printed string) map[string][]int {
	runs := make(map[string][]int)
	for _, m := range allocsLine.FindAllStringSubmatch(printed, -1) {
		n, _ := strconv.Atoi(m[2]) // digits, says the pattern
		runs[m[1]] = append(runs[m[1]], n)
	}
	for _, counts := range runs {
		slices.Sort(counts)
	}
	return runs
}

// compareAllocations compares the lowest count with the usual count of the baseline,
// because scheduling can save an allocation in some runs. A benchmark that only one
// side has is a fault.
func compareAllocations(old, now map[string][]int) (checks []check) {
	both := maps.Clone(old)
	maps.Copy(both, now)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		c := check{name: name}
		was, is := old[name], now[name]
		switch {
		case was == nil:
			c.fault = "the baseline does not have it: make bench-baseline"
		case is == nil:
			c.fault = "it is in the baseline and did not run"
		case is[0] > was[len(was)/2]:
			c.fault = fmt.Sprintf("%d allocations, were %d", is[0], was[len(was)/2])
		}
		checks = append(checks, c)
	}
	return checks
}

func processor(printed string) string {
	if m := cpuLine.FindStringSubmatch(printed); m != nil {
		return m[1]
	}
	return ""
}

// readChanges reads the tables that benchstat writes as CSV: a unit in the second
// column of the head, then name, old, its range, new, its range, change, p.
func readChanges(table string) (changes []change) {
	r := csv.NewReader(strings.NewReader(table))
	r.FieldsPerRecord = -1
	unit := ""
	for {
		f, err := r.Read()
		if err != nil {
			return changes
		}
		switch {
		case len(f) < 7:
		case f[0] == "":
			unit = f[1]
		case f[0] != "geomean":
			percent, _ := strconv.ParseFloat(strings.TrimSuffix(f[5], "%"), 64) // ~ is no number, and no change
			changes = append(changes, change{f[0], unit, percent})
		}
	}
}

// compareChanges ignores time where it cannot be compared.
func compareChanges(changes []change, sameProcessor bool) (checks []check) {
	for _, c := range changes {
		most, judged := tolerance[c.unit]
		if !judged || c.unit == "sec/op" && !sameProcessor {
			continue
		}
		k := check{name: c.name + " " + c.unit}
		if c.percent > most {
			k.fault = fmt.Sprintf("%+.1f %%, tolerated are %.0f %%", c.percent, most)
		}
		checks = append(checks, k)
	}
	return checks
}
