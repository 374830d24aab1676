package main

import (
	"os"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

const pkg = module + "mcp"

func read(t *testing.T, lines ...string) claims {
	t.Helper()
	c, err := readClaims(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEachRequirementNeedsATestOrAReason(t *testing.T) {
	requirements := []claim.Requirement{
		{ID: "R-1", Level: "MUST"},
		{ID: "R-2", Level: "MAY"},
		{ID: "R-3", Level: "MUST", Status: claim.Open, Note: "authorization"},
	}
	crowd := func() (lines []string) {
		for _, id := range "abcdefghijk" {
			lines = append(lines, string(id)+"\t"+pkg+"\tTestAll")
		}
		return lines
	}()
	tests := []struct {
		name   string
		claims []string
		want   []string
	}{
		{"both have tests", []string{"R-1\t" + pkg + "\tTestA/sub", "R-2\t" + pkg + "\tTestA"}, nil},
		{"one has none", []string{"R-2\t" + pkg + "\tTestA"}, []string{"R-1 (MUST, ): : no test"}},
		{"what is open is shown", []string{"R-1\t" + pkg + "\tTestA", "R-2\t" + pkg + "\tTestA", "R-3\t" + pkg + "\tTestA"}, []string{"R-3 is open and shown by mcp TestA"}},
		{"one test claims all", append(crowd, "R-1\t"+pkg+"\tTestA", "R-2\t"+pkg+"\tTestA"), []string{"mcp TestAll claims 11 requirements"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := read(t, test.claims...).faults(requirements)
			if len(got) != len(test.want) {
				t.Fatalf("got %q, want %q", got, test.want)
			}
			for i := range got {
				if !strings.Contains(got[i], test.want[i]) {
					t.Errorf("got %q, want %q in it", got[i], test.want[i])
				}
			}
		})
	}
}

func TestPageNamesTestsAndReasons(t *testing.T) {
	requirements := []claim.Requirement{
		{ID: "R-1", Area: "Tools", Level: "MUST NOT", Roles: []string{"S", "C"}, Revisions: "1-5", Title: "It breaks"},
		{ID: "R-2", Area: "Tools", Level: "MUST", Roles: []string{"S"}, Revisions: "5", Title: "It holds", Status: claim.Open, Note: "authorization"},
		{ID: "R-3", Area: "Host", Level: "MAY", Roles: []string{"H"}, Revisions: "X", Title: "It shines", Status: claim.NotFollowed, Note: "Why."},
	}
	seeds := []claim.Seed{{Title: "000 Old", Sections: []claim.Section{{Title: "Start", Requirements: []string{"R-1", "R-2"}}}}}
	c := read(t, "R-1\t"+pkg+"\tTestB/x", "R-1\t"+pkg+"\tTestB/y", "R-1\t"+pkg+"\tTestA", "R-1\t"+pkg+"/mcptest\tTestC")
	got := render(requirements, seeds, c)
	for _, want := range []string{
		"### 000 Old\n\n| section | shown | not shown |\n|---|---|---|\n| Start | R-1 | R-2 (open) |\n",
		"| R-1 | MUST NOT | S C | 1-5 | It breaks | [mcp](../mcp) TestA, TestB; [mcp/mcptest](../mcp/mcptest) TestC |",
		"| *open*: authorization |\n\n## Host\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant in it\n%s", got, want)
		}
	}
	got = totals(requirements)
	for _, want := range []string{"| server | 1 of 2 | none | none |", "| host | none | none | none (1 besides) |"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant in it\n%s", got, want)
		}
	}
}

func TestPageOfTotalsIsUpToDate(t *testing.T) {
	const page = "../../../docs/spec-coverage.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []func([]claim.Requirement) string{totals, reasons} {
		if want := table(claim.Requirements()); !strings.Contains(string(text), want) {
			t.Errorf("%s: want the table\n%s", page, want)
		}
	}
}
