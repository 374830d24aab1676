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
	// Key names it and is the prefix of the wire names of its tools and prompts. CheckKey
	// says which keys are valid.
	Key string
	// Target is where and how the server is reached.
	Target mcpclient.Target
	// Transport describes the target for people: "over stdio", "over HTTP", "in this
	// process".
	Transport string
	// Header is sent with every HTTP request to the upstream.
	Header http.Header
	// SignIn configures how the host gets tokens for it.
	SignIn SignIn
	// Settings are those that only this host defines, unlike the fields that other
	// programs' configuration files have, too.
	Settings Settings
}

// SignIn configures how the host gets tokens for an upstream over HTTP that requires
// authorization. The zero value lets a user sign in, with a client that is registered at
// the authorization server dynamically.
type SignIn struct {
	// Disabled means that the upstream gets no tokens.
	Disabled bool
	// ClientID and ClientSecret are of a client that was registered by hand at Issuer.
	// They are sent to no other issuer.
	Issuer, ClientID string
	ClientSecret     mcpauth.Secret
	// ClientCredentials gets tokens for that client itself, without a user. Spec: RFC
	// 6749 4.4
	ClientCredentials bool
	// Scopes are requested in addition to those that the upstream requires.
	Scopes []string
	// RedirectURL is the loopback URL to which the browser returns. Empty means any port.
	RedirectURL string
	// AllowedNetworks are private networks in which the authorization server may be.
	AllowedNetworks []netip.Prefix
}

// Settings say how the host treats an upstream. The zero value isolates callers from each
// other, and needs no consent for calls.
type Settings struct {
	// Share makes all callers use one connection. It is for servers that keep no state
	// between calls. Otherwise each session, and each principal of the stateless era, has
	// a connection and a process of its own.
	Share bool
	// Lazy delays the start until a client lists or uses the server's features.
	Lazy bool
	// Idle is how long a server that was started as a process may be unused before it is
	// stopped. The next use starts it again. Zero means no limit, except for processes of
	// callers of the stateless era, which are stopped after 30 minutes.
	Idle time.Duration
	// Rules say which tools may be called, and which calls need consent.
	Rules Rules
}

// State is the state of the connection to an upstream.
type State string

// The states of an upstream.
const (
	// Starting: no connection yet, and no failure.
	Starting State = "starting"
	// Ready: connected, and its features are known.
	Ready State = "ready"
	// Idle: not connected because no client needs it. The next use connects.
	Idle State = "idle"
	// Failing: connected, but its last three calls failed, and none has succeeded since.
	// Calls are still sent to it; the first that succeeds makes it ready.
	Failing State = "failing"
	// Failed: it cannot be reached, has crashed, or is no MCP server. It is retried after
	// a pause.
	Failed State = "failed"
	// Suspended: it has failed five times within a minute. It is retried every two
	// minutes.
	Suspended State = "suspended"
	// NeedsApproval: its program, as it is now, was not approved, so it is not started.
	NeedsApproval State = "needs approval"
	// NeedsSignIn: it requires authorization, and the user has not signed in or must do
	// so again.
	NeedsSignIn State = "sign in"
)

// ErrNeedsApproval is the error of a start that needs the approval of the user.
var ErrNeedsApproval = errors.New("needs approval")

// Status describes an upstream at one moment.
type Status struct {
	Key string `json:"key"`
	// Transport is that of the Upstream.
	Transport string `json:"reached"`
	State     State  `json:"state"`
	// Reason says why an upstream is not ready. It may contain text of the upstream and
	// is not trusted.
	Reason string `json:"reason,omitzero"`
	// SessionsLost is how often it no longer knew a session over HTTP, so that the host
	// opened a new one. SessionLost is when that happened last.
	SessionsLost int       `json:"sessionsLost,omitzero"`
	SessionLost  time.Time `json:"sessionLost,omitzero"`
	// Retry is the time of the next attempt if the state is failed or suspended.
	Retry time.Time `json:"retry,omitzero"`
	// Revision is the protocol revision of the last connection.
	Revision mcp.Revision `json:"revision,omitzero"`
	// Tools, Resources, Templates and Prompts are the numbers of its features.
	Tools     int `json:"tools"`
	Resources int `json:"resources"`
	Templates int `json:"templates"`
	Prompts   int `json:"prompts"`
	// Callers is the number of callers that have a connection of their own.
	Callers int `json:"callers"`
	// Omitted are features that clients do not see, and why. The text is not trusted.
	Omitted []string `json:"omitted,omitempty"`
	// Withheld are the tools whose definition has changed since it was approved.
	Withheld []Withheld `json:"withheld,omitempty"`
	// Denied are the tools that the rules hide from clients.
	Denied []string `json:"denied,omitempty"`
	// Stderr has the last lines that its processes wrote to standard error. It is not
	// trusted.
	Stderr []string `json:"stderr,omitempty"`
}

// Withheld is a tool that clients do not see until its new definition is approved.
type Withheld struct {
	Tool string `json:"tool"`
	// Digest is that of the new definition. An approval names it.
	Digest string `json:"digest"`
	// Diff shows the changed lines, with "-" before those of the approved definition and
	// "+" before those of the new one.
	Diff string `json:"diff"`
}
