package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

var introduction = `# Requirements and their tests

Made by ` + "`make coverage`" + ` from what the tests of ` + "`go test ./...`" + ` claim while they run. If the level has a NOT, the title names
what must not happen. Revisions are counted from 1 (` + mcp.V20241105.String() + `) to 5 (` + mcp.V20260728.String() + `); X is an extension.
`

// render returns the page of all requirements.
func render(requirements []claim.Requirement, seeds []claim.Seed, c claims) string {
	p := &page{claims: c, byID: make(map[string]claim.Requirement)}
	for _, r := range requirements {
		p.byID[r.ID] = r
	}
	p.WriteString(introduction)
	p.WriteString("\n## The documents that Fondaco began with\n")
	for _, s := range seeds {
		p.seed(s)
	}
	area := ""
	for _, r := range requirements {
		if r.Area != area {
			area = r.Area
			fmt.Fprintf(p, "\n## %s\n\n| | level | role | revisions | requirement | shown by |\n|---|---|---|---|---|---|\n", area)
		}
		fmt.Fprintf(p, "| %s | %s | %s | %s | %s | %s |\n",
			r.ID, r.Level, strings.Join(r.Roles, " "), r.Revisions, r.Title, p.owner(r))
	}
	return p.String()
}

type page struct {
	strings.Builder
	claims claims
	byID   map[string]claim.Requirement
}

// owner returns the tests of a requirement, or the reason why it has none.
func (p *page) owner(r claim.Requirement) string {
	if r.Status != claim.Shown {
		return fmt.Sprintf("*%s*: %s", r.Status, r.Note)
	}
	var text strings.Builder
	before := ""
	for _, test := range p.claims.tests[r.ID] {
		pkg, name, _ := strings.Cut(test, " ")
		switch {
		case pkg == before:
			text.WriteString(", ")
		case before != "":
			text.WriteString("; ")
		}
		if pkg != before {
			fmt.Fprintf(&text, "[%s](../%[1]s) ", pkg)
			before = pkg
		}
		text.WriteString(name)
	}
	return text.String()
}

// roles are the rows of the totals.
var roles = []struct{ letter, name string }{
	{"S", "server"},
	{"C", "client"},
	{"H", "host"},
	{"G", "gateway"},
	{"A", "authorization server"},
	{"I", "identity provider"},
}

// levels are the columns of the totals.
var levels = []string{"MUST", "SHOULD", "MAY"}

// totals returns the table of docs/spec-coverage.md: how many requirements are shown.
func totals(requirements []claim.Requirement) string {
	var text strings.Builder
	text.WriteString("| shown, of those that are applicable | " + strings.Join(levels, " | ") + " |\n|---|---|---|---|\n")
	for _, role := range roles {
		text.WriteString("| " + role.name)
		for _, level := range levels {
			text.WriteString(" | " + count(requirements, role.letter, level))
		}
		text.WriteString(" |\n")
	}
	return text.String()
}

// reasons returns the table of docs/spec-coverage.md with each SHOULD that is not shown although it is applicable, and why.
func reasons(requirements []claim.Requirement) string {
	var text strings.Builder
	text.WriteString("| requirement | role | what it asks for | why not |\n|---|---|---|---|\n")
	for _, r := range requirements {
		if strings.HasPrefix(r.Level, "SHOULD") && (r.Status == claim.NotFollowed || r.Status == claim.Open) {
			fmt.Fprintf(&text, "| %s, %s | %s | %s | %s |\n", r.ID, r.Level, roleNames(r.Roles), r.Title, r.Note)
		}
	}
	return text.String()
}

func roleNames(letters []string) string {
	var names []string
	for _, role := range roles {
		if slices.Contains(letters, role.letter) {
			names = append(names, role.name)
		}
	}
	return strings.Join(names, ", ")
}

// count returns how many requirements of a role and a level are shown.
func count(requirements []claim.Requirement, role, level string) string {
	number := make(map[claim.Status]int)
	for _, r := range requirements {
		if slices.Contains(r.Roles, role) && strings.TrimSuffix(r.Level, " NOT") == level {
			number[r.Status]++
		}
	}
	applicable := number[claim.Shown] + number[claim.Open]
	besides := number[claim.NotApplicable] + number[claim.NotFollowed]
	text := fmt.Sprintf("%d of %d", number[claim.Shown], applicable)
	if applicable == 0 {
		text = "none"
	}
	if besides > 0 {
		text += fmt.Sprintf(" (%d besides)", besides)
	}
	return text
}

func (p *page) seed(s claim.Seed) {
	fmt.Fprintf(p, "\n### %s\n\n| section | shown | not shown |\n|---|---|---|\n", s.Title)
	for _, section := range s.Sections {
		var shown, rest []string
		for _, id := range section.Requirements {
			if status := p.byID[id].Status; status != claim.Shown {
				rest = append(rest, fmt.Sprintf("%s (%s)", id, status))
			} else {
				shown = append(shown, id)
			}
		}
		fmt.Fprintf(p, "| %s | %s | %s |\n", section.Title, strings.Join(shown, " "), strings.Join(rest, ", "))
	}
}
