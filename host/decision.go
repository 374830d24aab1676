package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"slices"
	"time"
)

// Decision is the outcome of one action that was requested of the host. The host records
// each of them. A call that has to be recorded before it is made has two: one with
// OutcomeBegun, and one with the outcome under the same Call.
type Decision struct {
	Time time.Time `json:"time"`
	// Principal is the caller on whose behalf it was requested; empty for the host
	// itself.
	Principal string `json:"principal,omitzero"`
	// Client is the name and version of the client program as it declares them, from
	// ClientName. It is not verified.
	Client string `json:"client,omitzero"`
	// Session identifies the client's session in logs. It is no credential. It is empty in
	// the stateless era, which has no sessions.
	Session  string `json:"session,omitzero"`
	Upstream string `json:"upstream"`
	Action   Action `json:"action"`
	// Name is the tool, prompt or resource, as the upstream names it, or the directory that is a root.
	Name string `json:"name,omitzero"`
	// Arguments is the digest of the arguments, from ArgumentsDigest.
	Arguments string `json:"arguments,omitzero"`
	// ArgumentsText is the JSON text of the arguments. It is set for the tools of
	// Settings.AuditArguments only.
	ArgumentsText jsontext.Value `json:"-"`
	// Call joins the decisions about one call that has more than one.
	Call    string  `json:"call,omitzero"`
	Outcome Outcome `json:"outcome"`
	// Grant is the id of the grant by which a call was allowed, or that the action is
	// about. GrantedBy is who gave it, and GrantedHow in which way.
	Grant      string     `json:"grant,omitzero"`
	GrantedBy  string     `json:"grantedBy,omitzero"`
	GrantedHow GrantedHow `json:"grantedHow,omitzero"`
	// Reason says why. It may contain text of an upstream.
	Reason string `json:"reason,omitzero"`
	// Duration includes the time for questions to the caller.
	Duration time.Duration `json:"-"`
}

// Action is what was requested.
type Action string

// The actions.
const (
	ActionApprove    Action = "approve"     // a program, or the changed definition of a server
	ActionCarryOver  Action = "carry over"  // an approval, to a program that replaced the approved one
	ActionStart      Action = "start"       // an upstream
	ActionOffer      Action = "offer"       // a tool to clients
	ActionCall       Action = "call"        // a tool
	ActionRead       Action = "read"        // a resource
	ActionGet        Action = "get"         // a prompt
	ActionConsent    Action = "consent"     // to a call: a question was put, and answered or not
	ActionGrant      Action = "grant"       // that calls are allowed without a further question
	ActionRevoke     Action = "revoke"      // an approval, a grant or a credential
	ActionAnswer     Action = "answer"      // to a question of a server, by the user of the host
	ActionSwitchOff  Action = "switch off"  // a server, until the host ends
	ActionSwitchOn   Action = "switch on"   // a server that was switched off
	ActionRestart    Action = "restart"     // a server, by the user
	ActionAddRoot    Action = "add root"    // to those of a server, by the user
	ActionRemoveRoot Action = "remove root" // from those of a server, by the user
)

// Outcome is the result of an action.
type Outcome string

// The outcomes.
const (
	OutcomeBegun     Outcome = "begun" // it is about to be sent to the upstream
	OutcomeDone      Outcome = "done"
	OutcomeFailed    Outcome = "failed"         // it was allowed and did not succeed
	OutcomeDenied    Outcome = "denied"         // by the rules or the managed policy
	OutcomeRefused   Outcome = "refused"        // the caller did not consent or could not be asked, or a sign-in is needed
	OutcomeCancelled Outcome = "cancelled"      // by the caller; a start by the end of the host, or of the command that needed it
	OutcomeWithheld  Outcome = "needs approval" // by the user
)

// GrantedHow is the way in which a person gave consent.
type GrantedHow string

// The ways in which consent is given.
const (
	GrantedByTerminal GrantedHow = "terminal"   // of the running host
	GrantedByCommand  GrantedHow = "command"    // such as "fondaco answer", with the code that the host shows
	GrantedByClient   GrantedHow = "client"     // the form of a client that the user allows to ask
	GrantedUnattended GrantedHow = "unattended" // --yes, where no host could show a code
)

// Limits of ClientName, in bytes.
const (
	maxClientName    = 64
	maxClientVersion = 32
)

// ClientName returns the name and version that a client declares as one printable text of
// limited length, such as "editor 1.2.0".
func ClientName(name, version string) string {
	name, version = CutText(name, maxClientName), CutText(version, maxClientVersion)
	if version != "" {
		name += " " + version
	}
	return EscapeUnprintable(name)
}

// ArgumentsDigest returns the digest of the arguments of a call: "sha256:" and the SHA-256
// in hexadecimal of their canonical form (RFC 8785, with numbers as they are written,
// because servers may read them with more digits). Absent arguments have the digest of an empty object.
func ArgumentsDigest(arguments jsontext.Value) string {
	canonical := slices.Clone(arguments)
	if len(canonical) == 0 {
		canonical = jsontext.Value("{}")
	}
	_ = canonical.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) // what is no JSON is digested as it is
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// MetaRefused is the member of a result's _meta that tells programs that the host did not
// make a call. Its value is RefusedConsent, RefusedSignIn or RefusedRecord.
const (
	MetaRefused    = "io.github.fondaco/refused"
	RefusedConsent = "consent"
	RefusedSignIn  = "sign in"
	RefusedRecord  = "record" // the call could not be recorded in the audit log
)
