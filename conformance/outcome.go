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

// An outcome is what became of a scenario in a run.
type outcome struct {
	scenario string
	faults   []string // why it did not pass; none when it did
}

// A check is one entry of the suite's checks.json.
type check struct {
	ID          string         `json:"id"`
	Description string         `json:"description"`
	Status      string         `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED or INFO
	Error       string         `json:"errorMessage"`
	Details     jsontext.Value `json:"details"`
}

// message is the most that the suite says about the check.
func (c check) message() string { return cmp.Or(c.Error, string(c.Details), c.Description) }

// readOutcome judges what the suite has left of a scenario.
func readOutcome(dir, leg, scenario string) outcome {
	o := outcome{scenario: scenario}
	left, err := directoryOf(dir, leg, scenario)
	if err != nil {
		o.faults = append(o.faults, err.Error())
		return o
	}
	checks, err := readChecks(left)
	if err != nil {
		o.faults = append(o.faults, fmt.Sprintf("the suite left no checks, so the scenario broke off: %v", err))
		return o
	}
	o.faults = faultsOf(checks)
	if leg == "client" {
		o.faults = append(o.faults, clientFaults(left)...)
	}
	return o
}

// directoryOf finds the directory of a scenario, whose name ends in a time.
func directoryOf(dir, leg, scenario string) (string, error) {
	if leg == "server" {
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

// onEveryMessage is a check that a scenario passes too in which nothing else is
// tried: whether the messages satisfy their schemas.
const onEveryMessage = "wire-schema-valid"

// faultsOf tells what is wrong with a scenario that had these checks.
func faultsOf(checks []check) (faults []string) {
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

// clientFaults tells how the client ended, if that was not well.
func clientFaults(dir string) []string {
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
