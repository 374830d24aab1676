package host

import "time"

// Decision is the outcome of one action that was requested of the host. The host records
// each of them.
type Decision struct {
	Time time.Time `json:"time"`
	// Principal is the caller on whose behalf it was requested; empty for the host
	// itself.
	Principal string `json:"principal,omitzero"`
	Upstream  string `json:"upstream"`
	Action    Action `json:"action"`
	// Name is the tool, prompt or resource, as the upstream names it.
	Name    string  `json:"name,omitzero"`
	Outcome Outcome `json:"outcome"`
	// Reason says why. It may contain text of an upstream.
	Reason string `json:"reason,omitzero"`
	// Duration includes the time for questions to the caller.
	Duration time.Duration `json:"-"`
}

// Action is what was requested.
type Action string

// The actions.
const (
	ActionApprove Action = "approve" // a program, or the changed definition of a tool
	ActionStart   Action = "start"   // an upstream
	ActionOffer   Action = "offer"   // a tool to clients
	ActionCall    Action = "call"    // a tool
	ActionRead    Action = "read"    // a resource
	ActionGet     Action = "get"     // a prompt
)

// Outcome is the result of an action.
type Outcome string

// The outcomes.
const (
	OutcomeDone      Outcome = "done"
	OutcomeFailed    Outcome = "failed"         // it was allowed and did not succeed
	OutcomeDenied    Outcome = "denied"         // by the rules
	OutcomeRefused   Outcome = "refused"        // the caller did not consent or could not be asked, or a sign-in is needed
	OutcomeCancelled Outcome = "cancelled"      // by the caller
	OutcomeWithheld  Outcome = "needs approval" // by the user
)

// MetaRefused is the member of a result's _meta that tells programs that the host did not
// make a call. Its value is RefusedConsent or RefusedSignIn.
const (
	MetaRefused    = "io.github.fondaco/refused"
	RefusedConsent = "consent"
	RefusedSignIn  = "sign in"
)
