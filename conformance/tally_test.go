package main

import (
	"maps"
	"strings"
	"testing"
)

func TestExpectationsHaveReasons(t *testing.T) {
	t.Parallel()
	const text = `# About this file.

server:
  # It checks
  # nothing.
  - a
client:
  # No authorization yet.
  - a
  - auth/b

  # Another reason.
  - c
`
	got, err := parseExpected(text)
	want := expectations{
		{"server", "a"}: "It checks nothing.", {"client", "a"}: "No authorization yet.",
		{"client", "auth/b"}: "No authorization yet.", {"client", "c"}: "Another reason.",
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for text, want := range map[string]string{
		"server:\n- a":                         "line 2: a: want the reason",
		"# Why.\nserver:\n- a":                 "line 3: a: want the reason",
		"- a":                                  `line 1: "- a": want server:, client:`,
		"server:\n# Why.\n- a\n- a":            "line 4: a: is listed twice",
		"server:\n# Why.\n- a\nauthorization:": `line 4: "authorization:": want`,
	} {
		if _, err := parseExpected(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestGateCountsExpectedFailuresSeparately(t *testing.T) {
	t.Parallel()
	bad := []string{"no"}
	tests := []struct {
		name     string
		outcomes []outcome
		want     string
		expected int
	}{
		{"as expected", []outcome{{"fine", nil}, {"weak", bad}}, "1 passed, 0 failed, 0 skipped", 1},
		{"a failure", []outcome{{"fine", bad}, {"weak", bad}}, "0 passed, 1 failed, 0 skipped", 1},
		{"an unexpected pass", []outcome{{"fine", nil}, {"weak", nil}}, "1 passed, 1 failed, 0 skipped", 0},
		{"too few scenarios and a stale expectation", []outcome{{"fine", nil}}, "1 passed, 2 failed, 0 skipped", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := runs[0]
			r.scenarios = 2
			g := &tally{out: t.Output(), expected: expectations{{r.role, "weak"}: "Why."}}
			g.take(r, test.outcomes)
			g.close()
			if got := g.String(); got != test.want || g.failedAsExpected != test.expected {
				t.Errorf("got %s and %d expected failures, want %s and %d", got, g.failedAsExpected, test.want, test.expected)
			}
		})
	}
}

func TestIntermittentFailureStaysInTheTable(t *testing.T) {
	t.Parallel()
	var table table
	for _, v := range []verdict{passes, fails, passes} {
		table.set(runs[0], "unsteady", v)
	}
	if got := table.verdicts(runs[0].role, "unsteady")[runs[0]]; got != fails {
		t.Errorf("got %s, want %s", got, fails)
	}
}
