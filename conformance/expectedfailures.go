package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
)

// expectedFailures is the name of their list in the directory of the suite.
const expectedFailures = "expected-failures.yml"

// An expectation is a scenario that is expected not to pass.
type expectation struct{ role, scenario string }

func (e expectation) compare(f expectation) int {
	return cmp.Or(strings.Compare(e.role, f.role), strings.Compare(e.scenario, f.scenario))
}

// expectations maps each expectation to its reason.
type expectations map[expectation]string

func readExpected(name string) (expectations, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	e, err := parseExpected(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return e, nil
}

// parseExpected parses a list of scenarios for each role, in the subset of YAML that the
// suite also accepts:
//
//	client:
//	  # A comment is the reason for all entries up to the next comment.
//	  - auth/basic-cimd
//
// An entry without a reason is an error.
func parseExpected(text string) (expectations, error) {
	e := make(expectations)
	var role string
	var reason []string
	ended := true // the next comment starts a new reason
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		comment, isComment := strings.CutPrefix(line, "#")
		scenario, isEntry := strings.CutPrefix(line, "- ")
		switch {
		case line == "":
		case isComment && ended:
			reason, ended = []string{strings.TrimSpace(comment)}, false
		case isComment:
			reason = append(reason, strings.TrimSpace(comment))
		case line == "server:", line == "client:":
			role, reason, ended = strings.TrimSuffix(line, ":"), nil, true
		case !isEntry || role == "":
			return nil, fmt.Errorf("line %d: %q: want server:, client:, or below these - and a scenario", i+1, line)
		case len(reason) == 0:
			return nil, fmt.Errorf("line %d: %s: want the reason as a comment above", i+1, scenario)
		case e[expectation{role, scenario}] != "":
			return nil, fmt.Errorf("line %d: %s: is listed twice", i+1, scenario)
		default:
			e[expectation{role, scenario}], ended = strings.Join(reason, " "), true
		}
	}
	return e, nil
}
