package main

import "strings"

// A run is one start of the suite.
type run struct {
	leg       string // what is tried: "server" or "client"
	choice    string // how the scenarios are chosen, and their revision
	value     string // of the choice
	more      string // further arguments, separated by spaces
	scenarios int    // how many the pinned suite has
}

// runs are all of them. With "suite all" each scenario is in a revision of its
// own, and the server has them all mixed. The last ones try a revision for which
// the suite names no requirements.
var runs = []run{
	{leg: "server", choice: "requirements", value: "2025-11-25", scenarios: 33},
	{leg: "server", choice: "requirements", value: "2026-07-28", scenarios: 50},
	{leg: "server", choice: "suite", value: "all", scenarios: 65},
	{leg: "server", choice: "spec-version", value: "2025-03-26", more: "--suite all", scenarios: 1},
	{leg: "server", choice: "spec-version", value: "2025-06-18", more: "--suite all", scenarios: 27},
	{leg: "client", choice: "requirements", value: "2025-11-25", scenarios: 25},
	{leg: "client", choice: "requirements", value: "2026-07-28", scenarios: 39},
	{leg: "client", choice: "suite", value: "all", scenarios: 48},
	{leg: "client", choice: "spec-version", value: "2025-03-26", more: "--suite all", scenarios: 2},
	{leg: "client", choice: "spec-version", value: "2025-06-18", more: "--suite all", scenarios: 5},
}

func (r run) String() string { return strings.Join(r.args(), " ") }

// args are the arguments for the suite, but for what is tried.
func (r run) args() []string {
	return append([]string{r.leg, "--" + r.choice, r.value}, strings.Fields(r.more)...)
}

// directory is the name of a directory for what the run leaves.
func (r run) directory() string { return r.leg + "-" + r.choice + "-" + r.value }
