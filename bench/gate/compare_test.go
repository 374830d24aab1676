package main

import (
	"slices"
	"testing"
)

const before = `cpu: Abacus
BenchmarkHandler/call=echo/sdk=fondaco  2000  9000 ns/op  4000 B/op  25 allocs/op
BenchmarkHandler/call=echo/sdk=fondaco  2000  9000 ns/op  4000 B/op  24 allocs/op
BenchmarkHandler/call=echo/sdk=fondaco  2000  9000 ns/op  4000 B/op  23 allocs/op
BenchmarkGone/call=echo/sdk=fondaco  2000  9000 ns/op  4000 B/op  1 allocs/op
`

func faults(checks []check) (all []string) {
	for _, c := range checks {
		if c.fault != "" {
			all = append(all, c.name+": "+c.fault)
		}
	}
	return all
}

func TestOneAllocationMoreIsAFault(t *testing.T) {
	after := `BenchmarkHandler/call=echo/sdk=fondaco  2000  9000 ns/op  4000 B/op  25 allocs/op
BenchmarkNew/call=echo/sdk=fondaco  2000  9000 ns/op  4000 B/op  1 allocs/op
`
	got := faults(compareAllocations(allocations(before), allocations(after)))
	want := []string{
		"Gone/call=echo/sdk=fondaco: it is in the baseline and did not run",
		"Handler/call=echo/sdk=fondaco: 25 allocations, were 24",
		"New/call=echo/sdk=fondaco: the baseline does not have it: make bench-baseline",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got faults %q, want %q", got, want)
	}
	if got := faults(compareAllocations(allocations(before), allocations(before))); got != nil {
		t.Errorf("got faults %q of what did not change, want none", got)
	}
}

// table is as benchstat writes it.
const table = `goos: linux
pkg: example.com/bench
,baseline.txt,,now.txt,,,
,sec/op,CI,sec/op,CI,vs base,P
Handler,3.4e-05,2%,4.0e-05,3%,+17.64%,p=0.002 n=6
Pair,3.4e-05,2%,3.6e-05,3%,+5.88%,p=0.002 n=6
Client,3.4e-05,2%,9.0e-05,300%,~,p=0.485 n=6
geomean,1,,2,,+100.00%,

,baseline.txt,,now.txt,,,
,B/op,CI,B/op,CI,vs base,P
Handler,4054,0%,4500,0%,+11.00%,p=0.002 n=6

,baseline.txt,,now.txt,,,
,allocs/op,CI,allocs/op,CI,vs base,P
Handler,51,0%,99,0%,+94.00%,p=0.002 n=6
`

func TestChangesBeyondNoiseAndToleranceAreFaults(t *testing.T) {
	memory := "Handler B/op: +11.0 %, tolerated are 5 %"
	got := faults(compareChanges(readChanges(table), true))
	if want := []string{"Handler sec/op: +17.6 %, tolerated are 10 %", memory}; !slices.Equal(got, want) {
		t.Errorf("on the same processor: got faults %q, want %q", got, want)
	}
	got = faults(compareChanges(readChanges(table), false))
	if want := []string{memory}; !slices.Equal(got, want) {
		t.Errorf("on another processor: got faults %q, want %q", got, want)
	}
}

func TestProcessorIsRead(t *testing.T) {
	if got, want := processor(before), "Abacus"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
