package oauth

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// ClientMetadata is the metadata of a client: in a registration request, or in a document at the
// URL that is the client's identifier.
//
// Spec: RFC 7591 2; OpenID Connect Dynamic Client Registration 1.0 2; draft-ietf-oauth-client-id-metadata-document 4
type ClientMetadata struct {
	ClientID        string   `json:"client_id,omitzero"`
	Name            string   `json:"client_name"`
	RedirectURIs    []string `json:"redirect_uris"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types"`
	AuthMethod      string   `json:"token_endpoint_auth_method"`
	ApplicationType string   `json:"application_type,omitzero"`
	Keys            any      `json:"jwks,omitzero"`
}

// RegistrationResponse holds the identifier and secret that a server issued to
// a new client.
//
// Spec: RFC 7591 3.2.1
type RegistrationResponse struct {
	ClientID   string `json:"client_id"`
	Secret     Secret `json:"client_secret"`
	Expires    int64  `json:"client_secret_expires_at"` // 0 is never
	AuthMethod string `json:"token_endpoint_auth_method"`
}

// registrationCodes are the error codes that a registration response may have.
//
// Spec: RFC 7591 3.2.2
var registrationCodes = []string{"invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement", "unapproved_software_statement", "access_denied"}

// Register registers a client. An error response is an *Error; no redirect is
// followed.
//
// Spec: RFC 7591 3
func Register(ctx context.Context, c *http.Client, endpoint string, m *ClientMetadata) (*RegistrationResponse, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(text))
	if err != nil {
		return nil, errors.New("want a valid URL")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := (&TokenEndpoint{HTTP: c}).client().Do(req)
	if err != nil {
		return nil, BrokenError(err)
	}
	defer resp.Body.Close()
	var r RegistrationResponse
	if err := readAnswer(resp, registrationCodes, &r); err != nil {
		return nil, err
	}
	if !isClientID(r.ClientID) || !isToken(r.Secret) {
		return nil, errors.New("want a client_id, and a secret if any, of printable ASCII characters")
	}
	if !slices.Contains([]string{"", AuthNone, AuthBasic, AuthPost}, r.AuthMethod) {
		return nil, fmt.Errorf("want as token_endpoint_auth_method %s, %s or %s", AuthNone, AuthBasic, AuthPost)
	}
	return &r, nil
}

// isClientID reports whether text is an identifier by its syntax.
//
// Spec: RFC 6749 A.1
func isClientID(text string) bool {
	return text != "" && len(text) <= maxURL && span(text, func(c byte) bool { return ' ' <= c && c <= '~' }) == len(text)
}

// Push sends a pushed authorization request to an endpoint of the server, with the same client
// authentication as at the token endpoint, and returns the request_uri for the user's browser.
//
// Spec: RFC 9126 2
func (e *TokenEndpoint) Push(ctx context.Context, endpoint string, form map[string][]string) (string, error) {
	ahead := *e
	ahead.URL = endpoint
	req, err := ahead.prepare(ctx, form)
	if err != nil {
		return "", err
	}
	resp, err := ahead.client().Do(req)
	if err != nil {
		return "", BrokenError(err)
	}
	defer resp.Body.Close()
	var wire struct {
		RequestURI string `json:"request_uri"`
	}
	if err := readAnswer(resp, tokenCodes, &wire); err != nil {
		return "", err
	}
	if !isClientID(wire.RequestURI) {
		return "", fmt.Errorf("want a request_uri of printable ASCII characters")
	}
	return wire.RequestURI, nil
}
