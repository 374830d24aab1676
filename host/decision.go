package host

import "time"

// Decision is what became of one thing that was asked of the host. The host
// records each of them.
type Decision struct {
	Time time.Time `json:"time"`
	// Principal is on whose behalf it was asked; empty for the host's own.
	Principal string `json:"principal,omitzero"`
	Upstream  string `json:"upstream"`
	Action    Action `json:"action"`
	// Name is the tool, prompt or resource, as the upstream knows it.
	Name    string  `json:"name,omitzero"`
	Outcome Outcome `json:"outcome"`
	// Reason says why, in words that may be those of an upstream.
	Reason string `json:"reason,omitzero"`
	// Took is how long it took, asking included.
	Took time.Duration `json:"-"`
}

// Action is what was asked of the host.
type Action string

// The actions.
const (
	ActionApprove Action = "approve" // a program, or what has become of a tool
	ActionStart   Action = "start"   // an upstream
	ActionOffer   Action = "offer"   // a tool to clients
	ActionCall    Action = "call"    // a tool
	ActionRead    Action = "read"    // a resource
	ActionGet     Action = "get"     // a prompt
)

// Outcome is what became of it.
type Outcome string

// The outcomes.
const (
	OutcomeDone      Outcome = "done"
	OutcomeFailed    Outcome = "failed"         // it was allowed, and came to nothing
	OutcomeDenied    Outcome = "denied"         // by the rules
	OutcomeRefused   Outcome = "refused"        // the caller did not consent or could not be asked, or nobody has signed in
	OutcomeCancelled Outcome = "cancelled"      // by the caller
	OutcomeWithheld  Outcome = "needs approval" // of the user
)

// MetaRefused is the member of a result's metadata that tells programs why a call
// came to nothing at the host, and not at the tool. Its value is RefusedConsent or
// RefusedSignIn.
const (
	MetaRefused    = "io.github.fondaco/refused"
	RefusedConsent = "consent"
	RefusedSignIn  = "sign in"
)
