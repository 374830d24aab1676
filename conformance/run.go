package main

import "strings"

// A run is one start of the suite.
type run struct {
	role      string // what is tested: "server" or "client"
	option    string // the option that selects scenarios and their revision
	value     string // of the option
	extra     string // further arguments, separated by spaces
	scenarios int    // their number in the pinned version of the suite
}

// runs lists all runs. "suite all" runs each scenario in its own revision, mixed in one
// server. The last runs use a revision for which the suite has no requirements.
var runs = []run{
	{role: "server", option: "requirements", value: "2025-11-25", scenarios: 33},
	{role: "server", option: "requirements", value: "2026-07-28", scenarios: 50},
	{role: "server", option: "suite", value: "all", scenarios: 65},
	{role: "server", option: "spec-version", value: "2025-03-26", extra: "--suite all", scenarios: 1},
	{role: "server", option: "spec-version", value: "2025-06-18", extra: "--suite all", scenarios: 27},
	{role: "client", option: "requirements", value: "2025-11-25", scenarios: 25},
	{role: "client", option: "requirements", value: "2026-07-28", scenarios: 39},
	{role: "client", option: "suite", value: "all", scenarios: 48},
	{role: "client", option: "spec-version", value: "2025-03-26", extra: "--suite all", scenarios: 2},
	{role: "client", option: "spec-version", value: "2025-06-18", extra: "--suite all", scenarios: 5},
}

func (r run) String() string { return strings.Join(r.args(), " ") }

// args returns the suite's arguments, without the tested program.
func (r run) args() []string {
	return append([]string{r.role, "--" + r.option, r.value}, strings.Fields(r.extra)...)
}

// directory is the name of the output directory of the run.
func (r run) directory() string { return r.role + "-" + r.option + "-" + r.value }
