package host

import (
	"context"
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
	// Origin is the configuration file that names the upstream.
	Origin Origin
	// Source is what that file says. It is nil if there is no file.
	Source *Source
	// Files are the files that the program of the upstream runs, the program first, as they
	// were read when it was admitted. With another content it is not started. Nil means that
	// the content of no file is fixed.
	Files []ProgramFile
	// Resolve returns the upstream with the values of its references. Until then Target,
	// Header and SignIn have references to inputs and files as the file has them, and those
	// of a remote server have references to variables, too. Nil means that there are none.
	// It is safe for concurrent use.
	Resolve func(context.Context) (*Upstream, error)
}

// ProgramFile is a file that a program runs.
type ProgramFile struct {
	// Path is absolute, without symbolic links.
	Path string
	// SHA256 is that of the content in hexadecimal. It is empty for a file that may change,
	// see Settings.Dev.
	SHA256 string
}

// Origin is where an upstream was configured. The zero value means that it is part of the
// host.
type Origin struct {
	// File is the absolute path of the configuration file.
	File string
	// Project is the directory of the project that the file belongs to. It is empty for the
	// files of the user. Who can change the project's files is not trusted as the user is.
	Project string
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
	// AssumePKCE allows an authorization server that does not say which methods of PKCE it
	// supports.
	AssumePKCE bool
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
	// StartupTimeout limits a start: from starting the program, or the first request, until the
	// server has answered the handshake. Zero means 2 minutes for a program, and 30 seconds for
	// another server.
	StartupTimeout time.Duration
	// Timeouts limit calls, see CallTimeout.
	Timeouts []CallTimeout
	// Rules say which tools may be called, and which calls need consent.
	Rules Rules
	// Questions say what the upstream may ask the clients that call it.
	Questions QuestionRules
	// Roots are directories, as absolute paths, that the upstream gets as roots, behind those of the
	// calling client if Questions allow these. Those that do not exist are left out.
	Roots []string
	// Trust says which definitions wait for the user. Empty means the default of the
	// upstream, see Upstream.Trust.
	Trust Trust
	// Dynamic means that definitions which the upstream adds while it runs do not wait unless there
	// are findings.
	Dynamic bool
	// Validate means that arguments and results of the upstream are checked against its schemas
	// and the protocol, and that a feature with a schema that cannot be checked is left out.
	Validate bool
	// AuditArguments are patterns of tools, as in Rules, whose arguments are recorded in the
	// audit log as text, without what is known to be secret. Of all other calls it has a
	// digest of the arguments only.
	AuditArguments []string
	// Dev is for a server that the user develops: changes of its own files need no
	// approval. It has no effect unless the server's directory belongs to the user alone.
	Dev bool
}

// CallTimeout limits the calls of the tools that a pattern matches, as in Rules.
type CallTimeout struct {
	Tools   string
	Timeout time.Duration
}

// CallTimeout returns how long a call of a tool may take, without the time in which a question of the
// upstream is open. The first pattern that matches decides. Zero means that no limit is configured.
// Requests that call no tool have an empty name, which only patterns of stars match.
func (s *Settings) CallTimeout(tool string) time.Duration {
	for _, t := range s.Timeouts {
		if matches(t.Tools, tool) {
			return t.Timeout
		}
	}
	return 0
}

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
	// WantsKey says, in the state "sign in", that the server wants a key or token from the configuration: it
	// refuses the one that it got, or does not say where to sign in.
	WantsKey bool `json:"wantsKey,omitzero"`
	// MissingScopes are scopes that a refused call has lacked since the user signed in last, at most
	// MaxMissingScopes of them. The next sign-in requests all. The state is that of the connection, which other
	// calls use. The text is not trusted.
	MissingScopes []string `json:"missingScopes,omitempty"`
	// Retry is the time of the next attempt if the state is failed or suspended.
	Retry time.Time `json:"retry,omitzero"`
	// Revision is the protocol revision of the last connection.
	Revision mcp.Revision `json:"revision,omitzero"`
	// Tools, Resources, Templates and Prompts are the numbers of its features, without those
	// that wait for approval.
	Tools     int `json:"tools"`
	Resources int `json:"resources"`
	Templates int `json:"templates"`
	Prompts   int `json:"prompts"`
	// Callers is the number of callers that have a connection of their own.
	Callers int `json:"callers"`
	// Processes is the number of processes of a program that run now: for its lists and for
	// callers. It is 0 if the upstream is no program.
	Processes int `json:"processes"`
	// ProcessIDs are the ids of these processes, in the order in which they were started. A process that has ended by
	// itself may be among them for a moment.
	ProcessIDs []int `json:"processIds,omitempty"`
	// Omitted are features that clients do not see, or see under a qualified URI or with a
	// remark only, and lists that could not be read, and why. The text is not trusted.
	Omitted []string `json:"omitted,omitempty"`
	// Waiting are the definitions that wait for the approval of the user, at most
	// MaxWaiting of them. WaitingCount counts all.
	Waiting      []WaitingDefinition `json:"waiting,omitempty"`
	WaitingCount int                 `json:"waitingCount,omitzero"`
	// Denied are the tools that the rules hide from clients.
	Denied []string `json:"denied,omitempty"`
	// Withheld are the names of variables of the host that its program did not get, if the last
	// attempt to start it has failed: those first that the error mentions. It is not for callers.
	Withheld []string `json:"withheld,omitempty"`
	// Stderr has the last lines that its processes wrote to standard error. It is not
	// trusted.
	Stderr []string `json:"stderr,omitempty"`
}

// MaxWaiting limits the waiting definitions in a Status, and MaxMissingScopes its scopes.
const (
	MaxWaiting       = 100
	MaxMissingScopes = 16
)

// WaitsForSignIn reports whether a sign-in of the user makes calls possible that the server refuses now. One that
// wants another key gets none from a sign-in.
func (s *Status) WaitsForSignIn() bool {
	return s.State == NeedsSignIn && !s.WantsKey || len(s.MissingScopes) > 0
}

// WaitsForCredentials reports whether the server waits for a sign-in, or for a key.
func (s *Status) WaitsForCredentials() bool {
	return s.State == NeedsSignIn || len(s.MissingScopes) > 0
}
