package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestBudgetIsThatOfTheWholeName(t *testing.T) {
	text := "# seconds\n30 tests of one\n 5 tests\n"
	for name, want := range map[string]time.Duration{"tests": 5 * time.Second, "tests of one": 30 * time.Second, "one": 0, "# seconds": 0} {
		if got, _ := budgetOf(text, name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestStepOverItsBudgetIsNamed(t *testing.T) {
	saved := budgets
	t.Cleanup(func() { budgets = saved })
	budgets = "0 slow\n60 fast\n"
	s := &tally{out: new(bytes.Buffer)}
	for _, name := range []string{"slow", "fast", "without a budget"} {
		step{name: name, command: words("true")}.run(s)
	}
	if len(s.slow) != 1 || !strings.HasPrefix(s.slow[0], "slow took") || s.failed != 0 {
		t.Errorf("got %q and %d failed, want slow named and none failed", s.slow, s.failed)
	}
}

// bench-gate is no suite, and has no steps.
func TestEveryStepOfCIHasABudget(t *testing.T) {
	for _, suite := range listIn(t, ".ci/run", `(?m)^for goal in (.*); do$`) {
		if suite == "bench-gate" {
			continue
		}
		for _, s := range steps(suite, durations{}) {
			if _, has := budgetOf(budgets, s.name); !has {
				t.Errorf("%s: step %q has no line in budgets.txt", suite, s.name)
			}
		}
	}
}
