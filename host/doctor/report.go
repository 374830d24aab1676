package doctor

import "slices"

// Status is the outcome of a check.
type Status string

// The outcomes.
const (
	OK      Status = "ok"
	Warning Status = "warning" // the server can be used, and something should be changed
	Fault   Status = "fault"   // the server cannot be used, or not all of it
	Skipped Status = "skipped" // it does not apply to the server, or an earlier check has found a fault
)

// Result is what a check has found. A check has one Result at least.
type Result struct {
	// Check is the name of the check, one of Checks.
	Check  string `json:"check"`
	Status Status `json:"status"`
	// ID is the name of what was found, such as "dns.unknown-host". It is empty unless Status is Warning or
	// Fault, and does not change between versions.
	ID ID `json:"id,omitzero"`
	// Text is one sentence: what was found, and what would be right. It may have text of the server, at
	// most 1 KiB, and is not safe for a terminal.
	Text string `json:"text"`
	// Fix is a command that corrects the fault, or shows more of it. It is empty if no command of this machine
	// does: Text says then who has to do what.
	Fix string `json:"fix,omitzero"`
}

// Report has the results of all checks of one server, in the order of Checks.
type Report struct {
	// Server is the key of the server, or its URL or program if it has none.
	Server string `json:"server"`
	// Results are in the order of Checks.
	Results []Result `json:"results"`
}

// FirstFault returns the first result that is a fault, nil if there is none.
func (r *Report) FirstFault() *Result {
	i := slices.IndexFunc(r.Results, func(one Result) bool { return one.Status == Fault })
	if i < 0 {
		return nil
	}
	return &r.Results[i]
}
