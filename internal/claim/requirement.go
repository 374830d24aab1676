package claim

import (
	_ "embed" // for the two lists
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Requirement is one thing that a specification requires of an implementation.
type Requirement struct {
	// ID is R-, a number, and a letter if the specification's sentence has several
	// requirements. Differences between drafts and the final text are D- and B-, gaps of
	// the final text G-, errors across a gateway E-.
	ID string
	// Area is the heading in the list.
	Area string
	// Level is MUST, MUST NOT, SHOULD, SHOULD NOT or MAY. The title of a NOT names what
	// must not happen.
	Level string
	// Roles are the parties that must follow it, one letter each: S for server, C for
	// client, H for host, G for gateway, A for authorization server, I for identity
	// provider.
	Roles []string
	// Revisions have the numbers 1, for 2024-11-05, to 5, for 2026-07-28; X is an
	// extension.
	Revisions string
	Title     string
	// Status is why no test shows it, or Shown.
	Status Status
	// Note explains the status: the reason or, for an open requirement, the topic of
	// ROADMAP.md.
	Note string
}

// A Status is why no test shows a requirement.
type Status string

const (
	Shown         Status = "" // a test must show it
	NotApplicable Status = "not applicable"
	NotFollowed   Status = "not followed" // for SHOULD and MAY only
	Open          Status = "open"
)

// Demanded reports whether it is a MUST or a MUST NOT.
func (r Requirement) Demanded() bool { return strings.HasPrefix(r.Level, "MUST") }

// Requirements returns the whole list in its order. It must not be modified.
func Requirements() []Requirement { return list().requirements }

// Parts returns the listed identifiers for an identifier: itself, its parts if only they
// are listed, or none.
func Parts(id string) []string { return list().parts[id] }

//go:embed requirements.tsv
var requirementsTSV string

type parsed struct {
	requirements []Requirement
	parts        map[string][]string
}

// list parses the list once. It panics if the list is invalid.
var list = sync.OnceValue(func() parsed {
	p := parsed{parts: make(map[string][]string)}
	eachRow(requirementsTSV, func(heading string, fields []string) {
		r := parseRequirement(heading, fields)
		p.requirements = append(p.requirements, r)
		p.parts[r.ID] = []string{r.ID}
		if whole := partOf.FindStringSubmatch(r.ID); whole != nil {
			p.parts[whole[1]] = append(p.parts[whole[1]], r.ID)
		}
	})
	return p
})

// partOf matches the identifier of a part and captures that of the whole.
var partOf = regexp.MustCompile(`^([A-Z]-\d+)[a-z]$`)

func parseRequirement(area string, fields []string) Requirement {
	if len(fields) < 5 || len(fields) > 6 {
		panic(fmt.Sprintf("claim: %q: got %d columns, want id, level, roles, revisions, title and perhaps a status", fields[0], len(fields)))
	}
	r := Requirement{
		ID: fields[0], Area: area, Level: fields[1], Roles: strings.Split(fields[2], ","),
		Revisions: fields[3], Title: fields[4],
	}
	if len(fields) == 6 {
		status, note, _ := strings.Cut(fields[5], ": ")
		r.Status, r.Note = Status(status), note
	}
	return r
}

// eachRow calls do for each row of a list with the heading above it.
func eachRow(tsv string, do func(heading string, fields []string)) {
	heading := ""
	for line := range strings.Lines(tsv) {
		line = strings.TrimSuffix(line, "\n")
		if title, ok := strings.CutPrefix(line, "# "); ok {
			heading = title
		} else if line != "" {
			do(heading, strings.Split(line, "\t"))
		}
	}
}

// A Seed is one of the documents with which the project began.
type Seed struct {
	Title    string
	Sections []Section
}

// A Section is a section of a seed with its requirements.
type Section struct {
	Title        string
	Requirements []string // identifiers
}

//go:embed seeds.tsv
var seedsTSV string

// Seeds returns the documents with which the project began, section by section.
func Seeds() []Seed {
	var seeds []Seed
	eachRow(seedsTSV, func(heading string, fields []string) {
		if len(seeds) == 0 || seeds[len(seeds)-1].Title != heading {
			seeds = append(seeds, Seed{Title: heading})
		}
		s := Section{Title: fields[0]}
		for id := range strings.FieldsSeq(strings.Join(fields[1:], " ")) {
			s.Requirements = append(s.Requirements, Parts(id)...)
		}
		slices.Sort(s.Requirements)
		last := &seeds[len(seeds)-1]
		last.Sections = append(last.Sections, s)
	})
	return seeds
}
