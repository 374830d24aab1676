package mcp

import "fmt"

// Principal identifies on whose behalf a call is made: a subject, identified by
// its issuer, and the client that acts for it. Principals can be compared with
// ==. The data of one principal is never shown to another. The zero Principal
// is PrincipalAnonymous.
type Principal struct {
	// Issuer authenticated Subject. It is the issuer identifier of an
	// authorization server, or the name of another authentication method.
	Issuer string
	// Subject identifies the user or the service within the issuer.
	Subject string
	// Client identifies the program that acts for the subject, if known.
	Client string
}

// The principals of callers that are not authenticated.
var (
	// PrincipalLocal is the user of this machine: the peer on stdio, on a Unix
	// socket, or in the same process.
	PrincipalLocal = Principal{Subject: "local"}
	// PrincipalAnonymous is the principal of all HTTP requests without
	// authentication. They share it, so it does not isolate their senders from
	// each other.
	PrincipalAnonymous = Principal{}
)

// Authenticated reports whether an issuer authenticated the principal.
func (p Principal) Authenticated() bool { return p.Issuer != "" }

// String returns the principal as text for logs. Different principals have
// different texts.
func (p Principal) String() string {
	switch p {
	case PrincipalLocal:
		return "local"
	case PrincipalAnonymous:
		return "anonymous"
	}
	return fmt.Sprintf("issuer=%q subject=%q client=%q", p.Issuer, p.Subject, p.Client)
}
