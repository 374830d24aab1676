package mcpcheck

import (
	"slices"

	"github.com/fondaco/fondaco/mcp"
)

// Status is the outcome of a check.
type Status string

// The outcomes.
const (
	OK      Status = "ok"
	Warning Status = "warning" // the specification advises otherwise
	Fault   Status = "fault"   // the protocol does not allow it, or the server does not work any more
	Skipped Status = "skipped" // it does not apply to the server
)

// Result is what a check has found.
type Result struct {
	// Check is the name of the check. Names do not change between versions; docs/check.md explains each.
	Check string `json:"check"`
	// Revision is the one in which the check was made; zero for Lint.
	Revision mcp.Revision `json:"revision,omitzero"`
	Status   Status       `json:"status"`
	// Text says what was found, and what would be right. It may have text of the server.
	Text string `json:"text"`
	// Spec is the page of the specification. It may be empty.
	Spec string `json:"spec,omitzero"`
}

// Report has the results of Run.
type Report struct {
	// Server is what the server says about itself.
	Server mcp.Implementation `json:"server"`
	// Revisions are those that the server supports, oldest first.
	Revisions []mcp.Revision `json:"revisions"`
	Results   []Result       `json:"results"`
}

// Worst returns the worst status of the results: Fault, Warning or OK.
func (r *Report) Worst() Status {
	for _, s := range []Status{Fault, Warning} {
		if slices.ContainsFunc(r.Results, func(one Result) bool { return one.Status == s }) {
			return s
		}
	}
	return OK
}

// specURL is where the pages of the specification are.
const specURL = "https://modelcontextprotocol.io/specification/"

// page returns the URL of a page of the specification in a revision.
func page(r mcp.Revision, name string) string {
	if name == "" {
		return ""
	}
	return specURL + r.String() + "/" + name
}
