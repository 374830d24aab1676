package host

import (
	"net/http"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Upstream is one MCP server that the host brings to its clients.
type Upstream struct {
	// Key names it, and is the beginning of the names of its tools and prompts.
	// CheckKey says which are valid.
	Key string
	// Target is where the server is found.
	Target mcpclient.Target
	// Reached tells people how: "over stdio", "over HTTP", "in this process".
	Reached string
	// Header is sent with every HTTP request to it.
	Header http.Header
}

// State is what has become of an upstream.
type State string

// The states of an upstream.
const (
	// Starting: no connection yet, and no failure.
	Starting State = "starting"
	// Ready: connected, and its features are known.
	Ready State = "ready"
	// Failed: it cannot be reached, or is no MCP server. The reason is known.
	Failed State = "failed"
)

// Status describes an upstream at one moment.
type Status struct {
	Key     string
	Reached string
	State   State
	// Reason says why an upstream failed. It may hold words of the upstream and
	// is not to be trusted.
	Reason string
	// Revision is the revision of the protocol that it speaks, once it is ready.
	Revision mcp.Revision
	// Tools, Resources, Templates and Prompts count what it has.
	Tools, Resources, Templates, Prompts int
	// Omitted says what of it clients do not see, and why. It is not to be
	// trusted either.
	Omitted []string
}
