package consent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Scope says which calls a grant allows.
type Scope string

// The scopes. Without ReadOnly a grant is for calls of one tool with the same arguments.
const (
	// Once allows one call within ten minutes.
	Once Scope = "once"
	// Session allows calls of one session. In the stateless era, which has no sessions, it
	// allows calls of one principal for an hour at most, and no longer than its token.
	Session Scope = "session"
	// Timed allows calls for a time.
	Timed Scope = "timed"
	// Always allows calls until the grant is revoked.
	Always Scope = "always"
	// ReadOnly allows calls, with any arguments, of the tools of one server that claim to
	// be read-only, as they were approved when the grant was given, until it is revoked.
	ReadOnly Scope = "read-only"
)

const (
	// onceTime is how long a grant for one call holds, and statelessTime how long one for
	// a session of a client that has no sessions.
	onceTime      = 10 * time.Minute
	statelessTime = time.Hour
	// sessionTime limits grants for a session, and maxTime those for a time.
	sessionTime = 24 * time.Hour
	maxTime     = 30 * 24 * time.Hour
	// maxGrants limits the grants of one principal.
	maxGrants = 1000
	// maxReadOnlyTools limits the tools of a server in one grant.
	maxReadOnlyTools = 256
)

// Grant allows calls without a further question. It ends when the definition of a tool
// changes, or its server is another one.
type Grant struct {
	// ID is the number of the question whose answer it is.
	ID    string `json:"id"`
	Scope Scope  `json:"scope"`
	// Principal is whose calls are allowed, and Session in which session; empty for all.
	Principal string `json:"principal"`
	Session   string `json:"session,omitzero"`
	// Caller is Principal in its parts. Client is the program that made the first call, as it
	// declares itself; the grant is not limited to it.
	Caller mcp.Principal `json:"caller"`
	Client string        `json:"client,omitzero"`
	Server string        `json:"server"`
	// Tool and Arguments are those of the calls; the latter is host.ArgumentsDigest. With
	// ReadOnly they are empty.
	Tool      string `json:"tool,omitzero"`
	Arguments string `json:"arguments,omitzero"`
	// ArgumentsText is the beginning of the arguments without secrets, if the settings of the
	// server allow to record them as text.
	ArgumentsText string `json:"argumentsText,omitzero"`
	// Tools are the fingerprints of the definitions, by name of the tool.
	Tools   map[string]mcp.Fingerprint `json:"tools"`
	Created time.Time                  `json:"created"`
	// Expires is zero if the grant does not expire.
	Expires time.Time       `json:"expires,omitzero"`
	By      string          `json:"by"`
	How     host.GrantedHow `json:"how"`
	// Key is where it is stored.
	Key string `json:"key"`
}

// covers reports whether the grant is for a tool as it is defined now.
func (g *Grant) covers(tool string, now mcp.Fingerprint) bool {
	known, ok := g.Tools[tool]
	return ok && known == now && now != ""
}

// expired reports whether the time of the grant is over.
func (g *Grant) expired() bool { return !g.Expires.IsZero() && !time.Now().Before(g.Expires) }

// ParseScope parses how long an answer holds: "once", "session", "always", "read-only", or a
// duration such as "1h". An empty text is Once.
func ParseScope(text string) (Scope, time.Duration, error) {
	switch s := Scope(text); s {
	case "":
		return Once, 0, nil
	case Once, Session, Always, ReadOnly:
		return s, 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Minute || d > maxTime {
		return "", 0, fmt.Errorf(`found %.32q, want "once", "session", "always", "read-only", or a duration from 1m to %d days`, text, maxTime/(24*time.Hour))
	}
	return Timed, d, nil
}

// call is what grants and questions about a call are bound to.
type call struct {
	Principal   string                     `json:"principal"`
	Caller      mcp.Principal              `json:"caller"`
	Client      string                     `json:"client,omitzero"`
	Session     string                     `json:"session,omitzero"`
	Expires     time.Time                  `json:"expires,omitzero"` // of the credentials
	Server      string                     `json:"server"`
	Target      string                     `json:"target"` // digest of where the server is reached
	Tool        string                     `json:"tool"`
	Fingerprint mcp.Fingerprint            `json:"fingerprint"`
	Arguments   string                     `json:"arguments"`     // their digest
	Text        string                     `json:"text,omitzero"` // of the arguments, see Grant.ArgumentsText
	ReadOnly    map[string]mcp.Fingerprint `json:"readOnly,omitzero"`
}

func callOf(r *host.ConsentRequest) call {
	return call{
		Principal: r.Principal.String(), Caller: r.Principal, Client: r.Client, Session: r.Session, Expires: r.Expires, Server: r.Upstream.Key, Target: digestOf(targetOf(r.Upstream)),
		Tool: r.Tool.Name, Fingerprint: r.Fingerprint, Arguments: host.ArgumentsDigest(r.Arguments),
	}
}

// maxArgumentsText limits the text of the arguments that a grant has, in bytes.
const maxArgumentsText = 200

// argumentsText returns the text of the arguments that a grant may have, or "".
func argumentsText(r *host.ConsentRequest) string {
	if !r.Upstream.Settings.AuditsArguments(r.Tool.Name) {
		return ""
	}
	text := host.EscapeUnprintable(host.RedactArguments(r.Arguments, maxArgumentsText, func(s string) string {
		return host.HideSecrets(s[:min(len(s), maxDetails)])
	}))
	if len(text) > maxArgumentsText {
		text = strings.ToValidUTF8(text[:maxArgumentsText], "") + "…"
	}
	return text
}

// targetOf describes where a server is reached, so that another server under the same key has
// another text. What the configuration file says counts as it is written: the query of a URL,
// headers and variables may select the data that a call changes.
func targetOf(u *host.Upstream) string {
	if u.Target == nil {
		return ""
	}
	parts := []string{u.Target.String()}
	if t, ok := u.Target.(*mcpclient.CommandTarget); ok {
		parts = append([]string{t.Path, t.Dir}, t.Args...)
	}
	if u.Source != nil {
		parts = append(parts, fmt.Sprintf("%q", *u.Source)) // with the members of maps in order
	}
	return digestOf(parts...)
}

// identical reports whether an answer about one of two calls is one about the other.
func (c *call) identical(other *call) bool {
	return c.Principal == other.Principal && c.Session == other.Session && c.Server == other.Server && c.Target == other.Target &&
		c.Tool == other.Tool && c.Fingerprint == other.Fingerprint && c.Arguments == other.Arguments
}

const grantPrefix = "grants/"

// keyOnce is the key of the grant for one identical call, keyLasting that of one for identical
// calls in a session or, if it is empty, in any, and keyReadOnly that of one for the server's
// read-only tools.
func (c *call) keyOnce() string { return c.key("once", "", c.Tool, c.Arguments) }

func (c *call) keyLasting(session string) string {
	return c.key("lasting", session, c.Tool, c.Arguments)
}
func (c *call) keyReadOnly() string { return c.key("read-only", "", "", "") }

func (c *call) key(kind, session, tool, arguments string) string {
	return grantPrefix + digestOf(kind, c.Principal, session, c.Server, c.Target, tool, arguments)
}

// digestOf returns a digest that differs for different lists of texts.
func digestOf(parts ...string) string {
	var text []byte
	for _, part := range parts {
		text = append(binary.BigEndian.AppendUint64(text, uint64(len(part))), part...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// grant returns the grant of a scope for the call, without who has given it.
func (c *call) grant(s Scope, d time.Duration) (Grant, error) {
	g := Grant{Scope: s, Principal: c.Principal, Caller: c.Caller, Client: c.Client, Server: c.Server, Tool: c.Tool, Arguments: c.Arguments, ArgumentsText: c.Text, Tools: map[string]mcp.Fingerprint{c.Tool: c.Fingerprint}, Created: time.Now().UTC()}
	switch s {
	case Once:
		g.Key, d = c.keyOnce(), onceTime
	case Session:
		g.Session, d = c.Session, sessionTime
		if c.Session == "" {
			d = statelessTime
		}
		g.Key = c.keyLasting(c.Session)
	case Timed, Always:
		g.Key = c.keyLasting("")
	case ReadOnly:
		if len(c.ReadOnly) == 0 {
			return g, fmt.Errorf("%s: the tool does not claim to be read-only, or the server has too many such tools; want another scope", c.Tool)
		}
		g.Key, g.Tool, g.Arguments, g.ArgumentsText, g.Tools = c.keyReadOnly(), "", "", "", c.ReadOnly
	}
	if d > 0 {
		g.Expires = g.Created.Add(d)
	}
	if limit := c.Expires; s == Session && !limit.IsZero() && limit.Before(g.Expires) {
		g.Expires = limit.UTC()
	}
	return g, nil
}
