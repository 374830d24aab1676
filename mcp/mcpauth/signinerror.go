package mcpauth

import (
	"errors"

	"github.com/fondaco/fondaco/mcp/internal/egress"
)

// SignInError reports why there is no token for a server.
type SignInError struct {
	Server string // its URL
	Err    error
	// Option is the field of [ClientOptions] that would make the sign-in possible, if there is
	// one: "Registered" for a client that must be registered manually, "Prefixes" for an address
	// that is blocked, "AllowOldEndpoints" for a server without metadata, "AssumePKCE" for an
	// authorization server that does not say whether it supports PKCE. Error names it; the text of
	// Err does not, so that a program can name a setting of its own instead.
	Option string
	// MissingScopes are scopes that the server requires for the request, and that were never requested: its token is
	// accepted for other requests. With [ClientOptions.ManualSignIn] the next SignIn requests them. The text is that of the
	// server. It is nil for all other errors.
	MissingScopes []string
}

// Error returns the reason, and the option that would help.
func (e *SignInError) Error() string {
	text := "sign in to " + e.Server + ": " + e.Err.Error()
	if e.Option != "" {
		text += "; see ClientOptions." + e.Option
	}
	return text
}

// Unwrap gives access to the reason.
func (e *SignInError) Unwrap() error { return e.Err }

// optionError is an error that an option would prevent. It does not appear in texts:
// newSignInError reads it.
type optionError struct {
	option string
	err    error
}

func (e *optionError) Error() string { return e.err.Error() }
func (e *optionError) Unwrap() error { return e.err }

// missingScopesError is an error of a request that needs scopes which a sign-in would request. newSignInError reads
// them.
type missingScopesError struct {
	scopes []string
	err    error
}

func (e *missingScopesError) Error() string { return e.err.Error() }
func (e *missingScopesError) Unwrap() error { return e.err }

// newSignInError returns the error of a server, with the option that would prevent it and the scopes that it is about.
func newSignInError(server string, err error) *SignInError {
	e := &SignInError{Server: server, Err: err}
	if _, blocked := errors.AsType[*egress.BlockedError](err); blocked {
		e.Option = "Prefixes"
	} else if missing, ok := errors.AsType[*optionError](err); ok {
		e.Option = missing.option
	}
	if missing, ok := errors.AsType[*missingScopesError](err); ok {
		e.MissingScopes = missing.scopes
	}
	return e
}
