package link

import (
	"errors"
	"net/http"
	"strings"

	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// WantsCredentials reports whether an error of a server says that the user has to sign in, or has to give the server
// another key. Other errors of a sign-in may pass by themselves.
func WantsCredentials(err error) bool {
	return errors.Is(err, mcpauth.ErrSignInRequired) || WantsKey(err)
}

// missingScopes returns the scopes that a refused request has lacked, none for all other errors. The server accepts the
// token for other requests.
func missingScopes(err error) []string {
	if e, ok := errors.AsType[*mcpauth.SignInError](err); ok {
		return e.MissingScopes
	}
	return nil
}

// WantsKey reports whether a server wants a key or token from the configuration: it refuses the one that it got,
// or got none and says nothing of a sign-in.
func WantsKey(err error) bool {
	switch {
	case errors.Is(err, mcpauth.ErrSignInRequired):
		return false
	case errors.Is(err, mcpauth.ErrNoMetadata):
		return true
	}
	refused, ok := errors.AsType[*mcpclient.HTTPError](err)
	if _, signIn := errors.AsType[*mcpauth.SignInError](err); signIn || !ok {
		return false
	}
	return refused.Status == http.StatusUnauthorized ||
		refused.Status == http.StatusForbidden && strings.Contains(refused.Header.Get("WWW-Authenticate"), "insufficient_scope")
}
