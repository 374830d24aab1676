package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

var introduction = `# Specification coverage

Made by ` + "`make coverage`" + ` from what the tests of ` + "`go test ./...`" + ` claim while they run, and compared by
` + "`make test`" + `: do not edit. The list of requirements is
[requirements.tsv](../internal/claim/requirements.tsv). A test that fails or is skipped claims nothing.
Tests against other implementations and the official suite are not counted here.

*Not applicable* requirements concern something that Fondaco is not or does not have. *Open* ones wait for a
topic of the [roadmap](../ROADMAP.md). Only a SHOULD or a MAY can be *not followed*. If the level has a NOT, the
title names what must not happen. Revisions are counted from 1 (` + mcp.V20241105.String() + `) to 5 (` + mcp.V20260728.String() + `);
X is an extension.

Programs may deviate from one MUST, because real servers do: a program that lists the tools, prompts or resources of
a server of revisions 1 to 4 gets those that the server does not declare, too (R-046b), see
[Compatibility](compatibility.md). The library itself uses declared capabilities only. Replicas that share Keys alone deviate
from another one: the id of a session that has ended is refused by the process in which it has ended (R-119), but not by the
other replicas until it expires; with a Store and a Bus, all refuse it. See [Load balancing](load-balancing.md).
`

// render returns the page.
func render(requirements []claim.Requirement, seeds []claim.Seed, c claims) string {
	p := &page{claims: c, byID: make(map[string]claim.Requirement)}
	for _, r := range requirements {
		p.byID[r.ID] = r
	}
	p.WriteString(introduction)
	p.counts(requirements)
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

// roles are the roles in the page's table of counts.
var roles = []struct{ letter, name string }{
	{"S", "server"},
	{"C", "client"},
	{"H", "host"},
	{"G", "gateway"},
	{"A", "authorization server"},
	{"I", "identity provider"},
}

// levels are the columns of the counts.
var levels = []string{"MUST", "SHOULD", "MAY"}

func (p *page) counts(requirements []claim.Requirement) {
	p.WriteString("\n| shown, of those that are applicable | " + strings.Join(levels, " | ") + " |\n|---|---|---|---|\n")
	for _, role := range roles {
		p.WriteString("| " + role.name)
		for _, level := range levels {
			p.WriteString(" | " + count(requirements, role.letter, level))
		}
		p.WriteString(" |\n")
	}
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
