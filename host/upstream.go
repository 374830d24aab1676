package host

import (
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
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
	// SignIn says how the host gets tokens for it.
	SignIn SignIn
	// Settings are the host's own, apart from those that other programs know.
	Settings Settings
}

// SignIn says how the host gets tokens for an upstream over HTTP that wants to know
// who asks. The zero value is for a user who signs in, and a client that the
// authorization server registers.
type SignIn struct {
	// Off leaves the upstream without tokens.
	Off bool
	// ClientID and ClientSecret are of a client that was made by hand at Issuer, the
	// only one that they are sent to.
	Issuer, ClientID string
	ClientSecret     mcpauth.Secret
	// Machine gets tokens for that client itself, without a user.
	Machine bool
	// Scopes are asked for besides those that the upstream wants.
	Scopes []string
	// RedirectURL is to where the browser comes back, on this machine. Empty: any
	// port.
	RedirectURL string
	// Networks are private ones in which the authorization server may be.
	Networks []netip.Prefix
}

// Settings say how the host treats an upstream. The zero value is the most
// careful about isolation, and asks nothing.
type Settings struct {
	// Share lets all callers use one connection. It is for servers that keep
	// nothing between calls; otherwise each session, and each principal of the
	// stateless era, gets a connection and with it a process of its own.
	Share bool
	// Lazy leaves the server alone until somebody lists or uses what it has.
	Lazy bool
	// Idle is how long a server that is started as a process may be unused before
	// it is stopped. The next use starts it again. Zero is for ever, but for
	// callers of the stateless era, whose own processes end after 30 minutes.
	Idle time.Duration
	// Rules say which tools may be called, and which calls need consent.
	Rules Rules
}

// State is what has become of an upstream.
type State string

// The states of an upstream.
const (
	// Starting: no connection yet, and no failure.
	Starting State = "starting"
	// Ready: connected, and its features are known.
	Ready State = "ready"
	// Idle: not connected because nobody needs it now. The next use connects.
	Idle State = "idle"
	// Failed: it cannot be reached, has crashed, or is no MCP server. The reason
	// is known, and it is tried again after a pause.
	Failed State = "failed"
	// Parked: it has failed five times within a minute. It is tried again every
	// two minutes.
	Suspended State = "suspended"
	// NeedsApproval: its program was never approved as it is now, so it is not
	// started.
	NeedsApproval State = "needs approval"
	// NeedsSignIn: it wants to know who asks, and the user has not signed in, or
	// has to do so again.
	NeedsSignIn State = "sign in"
)

// ErrNeedsApproval is the reason why an upstream is not started.
var ErrNeedsApproval = errors.New("needs approval")

// Status describes an upstream at one moment.
type Status struct {
	Key string `json:"key"`
	// Reached is that of the Upstream.
	Reached string `json:"reached"`
	State   State  `json:"state"`
	// Reason says why an upstream is not ready. It may hold words of the upstream
	// and is not to be trusted.
	Reason string `json:"reason,omitzero"`
	// Retry is when a failed or suspended upstream is tried again.
	Retry time.Time `json:"retry,omitzero"`
	// Revision is the revision of the protocol that it speaks, once it is ready.
	Revision mcp.Revision `json:"revision,omitzero"`
	// Tools, Resources, Templates and Prompts count what it has.
	Tools     int `json:"tools"`
	Resources int `json:"resources"`
	Templates int `json:"templates"`
	Prompts   int `json:"prompts"`
	// Callers counts the connections that callers have for themselves.
	Callers int `json:"callers"`
	// Omitted says what of it clients do not see, and why. It is not to be
	// trusted either.
	Omitted []string `json:"omitted,omitempty"`
	// Withheld are the tools that have changed since they were approved.
	Withheld []Withheld `json:"withheld,omitempty"`
	// Denied are the tools that the rules hide from clients.
	Denied []string `json:"denied,omitempty"`
	// Stderr is the end of what its processes wrote to standard error, line by
	// line, and not to be trusted.
	Stderr []string `json:"stderr,omitempty"`
}

// Withheld is a tool that clients do not see until its definition is approved.
type Withheld struct {
	Tool string `json:"tool"`
	// Digest is that of what the server says now, and what an approval names.
	Digest string `json:"digest"`
	// Diff shows what has changed, a line each, with "-" before what was approved
	// and "+" before what the server says now.
	Diff string `json:"diff"`
}
