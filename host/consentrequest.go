package host

import (
	"encoding/json/jsontext"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// ConsentRequest describes a call to which the user of the host has to consent.
type ConsentRequest struct {
	// Principal is the caller.
	Principal mcp.Principal
	// Client is the name and version of the client program as it declares them, from
	// ClientName. It is not verified.
	Client string
	// Session identifies the client's session. It is empty in the stateless era.
	Session string
	// Expires is when the credentials of the caller expire; zero means never.
	Expires time.Time
	// Upstream has the tool.
	Upstream *Upstream
	// Tool is the definition that is approved, under the name that the upstream uses.
	Tool mcp.Tool
	// Fingerprint is that of Tool.
	Fingerprint mcp.Fingerprint
	Arguments   jsontext.Value
	// ReadOnlyTools returns the fingerprints of all tools of the upstream that claim to be
	// read-only, by name. It may be nil.
	ReadOnlyTools func() map[string]mcp.Fingerprint
	// OnQuestion is called with the number of the question when a person is asked. It may
	// be nil.
	OnQuestion func(id string)
}

// Owner returns to whom a question about the call is counted: the caller or, if several
// clients can share its principal, its session.
func (r *ConsentRequest) Owner() string { return callerName(r.Principal, r.Session) }

// Consent says by which grant a call is allowed, and who gave it.
type Consent struct {
	Grant string     `json:"grant,omitzero"`
	By    string     `json:"by,omitzero"`
	How   GrantedHow `json:"how,omitzero"`
}

// NoConsentError is the error of a call to which nobody has consented.
type NoConsentError struct {
	// Declined: a person has answered that the call must not be made.
	Declined bool
	// Question is the number of the question that waits for an answer, if there is one.
	Question string
	// Reason says why nobody could be asked, if there is no question and no answer.
	Reason string
}

// Error returns a text for the model that has made the call.
func (e *NoConsentError) Error() string {
	switch {
	case e.Declined:
		return "the call needs consent, and the user said no"
	case e.Question != "":
		return fmt.Sprintf("a person has to allow call %s in Fondaco (its terminal, inbox or notification); do not answer it yourself; call again afterwards", e.Question)
	}
	return "the call needs consent, and nobody could be asked: " + e.Reason
}
