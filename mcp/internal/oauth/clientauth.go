package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Methods by which a client authenticates itself at a token endpoint.
//
// Spec: RFC 7591 2; OpenID Connect Core 1.0 9
const (
	AuthNone          = "none"
	AuthBasic         = "client_secret_basic"
	AuthPost          = "client_secret_post"
	AuthPrivateKeyJWT = "private_key_jwt"
)

// AssertionType is the client_assertion_type of AuthPrivateKeyJWT.
//
// Spec: RFC 7523 2.2
const AssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// ClientAuth is how a client authenticates itself at a token endpoint. The zero
// value adds nothing to a request.
type ClientAuth struct {
	Method string // one of the constants; empty is AuthNone
	ID     string
	Secret Secret
	// Assert returns a new assertion for an audience, for AuthPrivateKeyJWT.
	Assert func(audience string) (string, error)
}

// apply adds the authentication to a request before it is sent.
func (a *ClientAuth) apply(header http.Header, form url.Values, audience string) error {
	switch a.Method {
	case "", AuthNone:
		if a.ID != "" {
			form.Set("client_id", a.ID)
		}
	case AuthBasic:
		header.Set("Authorization", basic(a.ID, a.Secret))
	case AuthPost:
		form.Set("client_id", a.ID)
		form.Set("client_secret", a.Secret.Reveal())
	case AuthPrivateKeyJWT:
		return a.assert(form, audience)
	default:
		return fmt.Errorf("client authentication %.64q: want %s, %s, %s or %s", a.Method, AuthNone, AuthBasic, AuthPost, AuthPrivateKeyJWT)
	}
	return nil
}

func (a *ClientAuth) assert(form url.Values, audience string) error {
	if a.Assert == nil {
		return errors.New("client authentication " + AuthPrivateKeyJWT + ": want a key to sign with")
	}
	assertion, err := a.Assert(audience)
	if err != nil {
		return fmt.Errorf("client assertion: %w", err)
	}
	form.Set("client_id", a.ID)
	form.Set("client_assertion_type", AssertionType)
	form.Set("client_assertion", assertion)
	return nil
}

// basic returns an Authorization header. Identifier and secret are form-encoded
// first, so that a colon in the identifier is no separator.
//
// Spec: RFC 6749 2.3.1
func basic(id string, secret Secret) string {
	r := http.Request{Header: make(http.Header)}
	r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret.Reveal()))
	return r.Header.Get("Authorization")
}
