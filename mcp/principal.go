package mcp

import "fmt"

// Principal is who a call is made for: a subject, as its issuer knows it,
// through a client. Principals compare with ==, and what belongs to one is
// never shown to another. The zero Principal is PrincipalAnonymous.
type Principal struct {
	// Issuer vouches for Subject. It is the issuer identifier of an
	// authorization server, or the name of another way to authenticate.
	Issuer string
	// Subject identifies the user or the service within the issuer.
	Subject string
	// Client identifies the program that acts for the subject, if known.
	Client string
}

// The principals of callers that nobody authenticated.
var (
	// PrincipalLocal is the user of this machine: the peer on stdio, on a Unix
	// socket, or in the same process.
	PrincipalLocal = Principal{Subject: "local"}
	// PrincipalAnonymous is everyone who comes over HTTP without authentication.
	// It is one principal for all of them, so it isolates none from another.
	PrincipalAnonymous = Principal{}
)

// Authenticated reports whether an issuer vouches for the principal.
func (p Principal) Authenticated() bool { return p.Issuer != "" }

// String returns the principal in a form for logs. Different principals have
// different forms.
func (p Principal) String() string {
	switch p {
	case PrincipalLocal:
		return "local"
	case PrincipalAnonymous:
		return "anonymous"
	}
	return fmt.Sprintf("issuer=%q subject=%q client=%q", p.Issuer, p.Subject, p.Client)
}
