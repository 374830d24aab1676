//go:build unix && replicas

package fault_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// checkCalls compares how the calls ended with the ledger, and prints the table of outcomes.
func checkCalls(t *testing.T, callers []*sharedCaller, file string) {
	t.Helper()
	done := readLedger(t, file)
	errs := make(map[string]int)
	table := make(map[string]*[outcomes]int)
	longest := make(map[string]time.Duration)
	for _, c := range callers {
		row := c.revision.String()
		if table[row] == nil {
			table[row] = new([outcomes]int)
		}
		for _, end := range c.calls {
			table[row][end.outcome]++
			longest[row] = max(longest[row], end.beyond)
			if end.err != nil {
				errs[row+" "+withoutNumbers(end.err.Error())]++
			}
			if bad := end.check(done[end.line]); bad != "" {
				t.Errorf("%s of %s: %s: %v", end.tool, end.line, bad, end.err)
			}
			delete(done, end.line)
		}
		for _, fault := range c.faults {
			t.Error(fault)
		}
		if c.listChange == 0 {
			t.Errorf("%s: no change of the list of tools was announced", c.name)
		}
	}
	for line, n := range done {
		t.Errorf("%q is in the ledger %d times, and nobody has asked for it", line, n)
	}
	t.Logf("%-12s %8s %13s %5s %8s %6s %8s", "revision", "answered", "may have run", "cut", "refused", "WRONG", "longest")
	for _, row := range slices.Sorted(maps.Keys(table)) {
		n := table[row]
		t.Logf("%-12s %8d %13d %5d %8d %6d %8v", row, n[right], n[mayHaveRun], n[cut], n[refused], n[wrong], longest[row].Round(10*time.Millisecond))
	}
	for _, text := range slices.Sorted(maps.Keys(errs)) {
		t.Logf("%6d × %s", errs[text], text)
	}
}

// check says what is wrong with the end of a call whose line is n times in the ledger.
func (e callEnd) check(n int) string {
	switch {
	case e.outcome == wrong:
		return "the answer is wrong"
	case e.beyond > patience:
		return fmt.Sprintf("it hung for %v", e.took)
	case e.tool == "echo":
		return ""
	case n > 1:
		return fmt.Sprintf("it has run %d times", n)
	case e.outcome == right && n == 0:
		return "it was answered and has not run"
	case e.outcome == refused && n > 0:
		return "it was refused and has run"
	}
	return ""
}

// readLedger returns how often each line is in the ledger.
func readLedger(t *testing.T, file string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	done := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		done[strings.TrimSuffix(line, "\n")]++
	}
	return done
}

// withoutNumbers replaces the digits of an error, so that errors of one kind are equal.
func withoutNumbers(text string) string {
	var last rune
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			r = '#'
		}
		if r == last && r == '#' {
			return -1
		}
		last = r
		return r
	}, text)
}
