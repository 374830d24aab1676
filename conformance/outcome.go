package main

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// An outcome is the result of a scenario in a run.
type outcome struct {
	scenario string
	problems []string // why it did not pass; empty if it passed
}

// A check is one entry of the suite's checks.json.
type check struct {
	ID          string         `json:"id"`
	Description string         `json:"description"`
	Status      string         `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED or INFO
	Error       string         `json:"errorMessage"`
	Details     jsontext.Value `json:"details"`
}

// message is the suite's message about the check, or its details.
func (c check) message() string { return cmp.Or(c.Error, string(c.Details), c.Description) }

// readOutcome evaluates the output of a scenario.
func readOutcome(dir, role, scenario string) outcome {
	o := outcome{scenario: scenario}
	left, err := directoryOf(dir, role, scenario)
	if err != nil {
		o.problems = append(o.problems, err.Error())
		return o
	}
	checks, err := readChecks(left)
	if err != nil {
		o.problems = append(o.problems, fmt.Sprintf("the suite left no checks, so the scenario broke off: %v", err))
		return o
	}
	o.problems = problemsOf(checks)
	if role == "client" {
		o.problems = append(o.problems, clientProblems(left)...)
	}
	return o
}

// directoryOf finds the directory of a scenario, whose name ends in a time.
func directoryOf(dir, role, scenario string) (string, error) {
	if role == "server" {
		scenario = "server-" + scenario
	}
	const anyTime = "-20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*Z"
	found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(scenario)+anyTime))
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("the suite left %d directories, want one", len(found))
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

func readChecks(dir string) (checks []check, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, "checks.json"))
	if err != nil {
		return nil, err
	}
	return checks, json.Unmarshal(raw, &checks)
}

// onEveryMessage is a check of the schemas of all messages. A scenario with no other
// check has checked nothing.
const onEveryMessage = "wire-schema-valid"

// problemsOf returns why a scenario with these checks has not passed.
func problemsOf(checks []check) (faults []string) {
	succeeded, skipped := 0, ""
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			if c.ID != onEveryMessage {
				succeeded++
			}
		case "SKIPPED":
			skipped = ": " + c.message()
		case "INFO":
		default:
			faults = append(faults, fmt.Sprintf("%s %s: %s", c.Status, c.ID, c.message()))
		}
	}
	if succeeded == 0 && len(faults) == 0 {
		faults = append(faults, "nothing was checked"+skipped)
	}
	return faults
}

// clientProblems returns how the client ended if it failed.
func clientProblems(dir string) []string {
	stdout, err := os.ReadFile(filepath.Join(dir, "stdout.txt"))
	stderr, err2 := os.ReadFile(filepath.Join(dir, "stderr.txt"))
	if err := errors.Join(err, err2); err != nil {
		return []string{err.Error()}
	}
	lines := strings.Split(strings.TrimSpace(string(stdout)), "\n")
	switch last := lines[len(lines)-1]; {
	case last == "exit 0":
		return nil
	case !strings.HasPrefix(last, "exit "):
		return []string{"the client did not end in time\n" + string(stderr)}
	default:
		return []string{"the client ended with " + last + "\n" + string(stderr)}
	}
}
