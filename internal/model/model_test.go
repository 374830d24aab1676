package model_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
)

var (
	schedules = flag.Uint64("schedules", 100, "number of schedules")
	first     = flag.Uint64("first", 1, "seed of the first schedule")
	verbose   = flag.Bool("history", false, "print the history of each schedule")
)

// A failure here means that a schedule of clients and faults exists in which an invariant does not hold.
func TestSchedules(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-005", "R-107a", "R-115b", "B-11", "B-14")
	for _, seed := range chosen() {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkSchedule(t, seed) })
		})
	}
}

// found are seeds that have failed, with the reason.
var found = map[uint64]string{
	202:  "a subscription that failed removed the same one of a replica that was taking over",
	335:  "a replica that was cut off kept a GET stream although another one had taken its place",
	1031: "a replica took the place of one that was killed although another one had done so",
	1345: "a late request of a replica took the notifications from the one that had them since",
	1803: "a repeated subscription that failed removed the one before",
	2706: "a question that the event store had not taken was never sent",
}

// chosen returns the seeds of the flags and those that have failed, or the seed that -run names.
func chosen() (seeds []uint64) {
	if _, name, found := strings.Cut(flag.Lookup("test.run").Value.String(), "seed="); found {
		if seed, err := strconv.ParseUint(strings.TrimRight(name, "$"), 10, 64); err == nil {
			return []uint64{seed}
		}
	}
	for seed := *first; seed < *first+*schedules; seed++ {
		seeds = append(seeds, seed)
	}
	for _, seed := range slices.Sorted(maps.Keys(found)) {
		if seed < *first || seed >= *first+*schedules {
			seeds = append(seeds, seed)
		}
	}
	return seeds
}

func checkSchedule(t *testing.T, seed uint64) {
	w := newWorld(seed)
	w.run(makePlan(w))
	for _, i := range invariants {
		for _, violation := range i.check(w.facts) {
			t.Errorf("%s (%s): %s", i.name, i.says, violation)
		}
	}
	if t.Failed() || *verbose {
		t.Logf("to repeat it: go test ./internal/model -run 'Schedules/seed=%d$'\n%s", seed, strings.Join(w.facts.history, "\n"))
	}
}
