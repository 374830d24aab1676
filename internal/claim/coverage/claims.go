package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/internal/claim"
)

const module = "github.com/fondaco/fondaco/"

// claims are the claims of all tests.
type claims struct {
	tests map[string][]string // of each requirement, as package and test, sorted
	ids   map[string][]string // of each test
}

func readClaims(r io.Reader) (claims, error) {
	c := claims{tests: make(map[string][]string), ids: make(map[string][]string)}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 3 {
			return c, fmt.Errorf("claim %q: want a requirement, a package and a test", lines.Text())
		}
		pkg := strings.TrimPrefix(fields[1], module)
		if strings.HasPrefix(pkg, "conformance") || strings.HasPrefix(pkg, "interop") {
			continue // some need Node, and the page must not depend on it
		}
		c.add(fields[0], pkg, fields[2])
	}
	return c, lines.Err()
}

// add adds a claim. Claims of subtests count for their test.
func (c claims) add(id, pkg, test string) {
	name, _, _ := strings.Cut(test, "/")
	c.tests[id] = insert(c.tests[id], pkg+" "+name)
	c.ids[pkg+" "+test] = insert(c.ids[pkg+" "+test], id)
}

func insert(sorted []string, s string) []string {
	i, found := slices.BinarySearch(sorted, s)
	if found {
		return sorted
	}
	return slices.Insert(sorted, i, s)
}

// faults returns invalid and missing claims.
func (c claims) faults(requirements []claim.Requirement) (faults []string) {
	for test, ids := range c.ids {
		if len(ids) > claim.MaxClaims {
			faults = append(faults, fmt.Sprintf("%s claims %d requirements: want at most %d", test, len(ids), claim.MaxClaims))
		}
	}
	slices.Sort(faults)
	for _, r := range requirements {
		tests := c.tests[r.ID]
		switch {
		case len(tests) == 0 && r.Status == claim.Shown:
			faults = append(faults, fmt.Sprintf("%s (%s, %s): %s: no test shows it; write one, or say why not in requirements.tsv", r.ID, r.Level, r.Area, r.Title))
		case len(tests) > 0 && r.Status != claim.Shown:
			faults = append(faults, fmt.Sprintf("%s is %s and shown by %s: drop its status, or the claim", r.ID, r.Status, tests[0]))
		}
	}
	return faults
}
