package oauth

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	maxDocument = 1 << 20
	maxDepth    = 32
)

// ResourceMetadata is the metadata of a protected resource.
//
// Spec: RFC 9728 2
type ResourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
	DPoPRequired         bool     `json:"dpop_bound_access_tokens_required"`
}

// ServerMetadata is the metadata of an authorization server.
//
// Spec: RFC 8414 2; RFC 7009 2; RFC 9207 3; RFC 9126 5; RFC 9449 5.1; OpenID Connect Discovery 1.0 3
type ServerMetadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	PAREndpoint           string   `json:"pushed_authorization_request_endpoint"`
	PARRequired           bool     `json:"require_pushed_authorization_requests"`
	ScopesSupported       []string `json:"scopes_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	GrantProfiles         []string `json:"authorization_grant_profiles_supported"`
	DPoPAlgorithms        []string `json:"dpop_signing_alg_values_supported"`
	ResponseIssuer        bool     `json:"authorization_response_iss_parameter_supported"`
	ClientIDDocuments     bool     `json:"client_id_metadata_document_supported"`
}

// Resolve resolves the endpoints of metadata that was found at a URL, see ResolveEndpoint.
func (m *ServerMetadata) Resolve(document *url.URL) {
	for _, endpoint := range []*string{
		&m.AuthorizationEndpoint, &m.TokenEndpoint, &m.RegistrationEndpoint, &m.PAREndpoint, &m.RevocationEndpoint,
	} {
		*endpoint = ResolveEndpoint(document, *endpoint)
	}
}

// CheckFor returns nil if the issuer in the metadata is the given one (see SameIdentifier), and
// ParseEndpoint accepts each endpoint.
//
// Spec: RFC 8414 3.3; OpenID Connect Discovery 1.0 4.3
func (m *ServerMetadata) CheckFor(issuer string) error {
	if !SameIdentifier(m.Issuer, issuer) {
		return fmt.Errorf("metadata of another issuer: found %s, want %q", ShownIssuer(m.Issuer), issuer)
	}
	for name, endpoint := range map[string]string{
		"authorization_endpoint": m.AuthorizationEndpoint, "token_endpoint": m.TokenEndpoint,
		"registration_endpoint": m.RegistrationEndpoint, "pushed_authorization_request_endpoint": m.PAREndpoint,
		"revocation_endpoint": m.RevocationEndpoint,
	} {
		if _, err := ParseEndpoint(endpoint); endpoint != "" && err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if m.TokenEndpoint == "" {
		return errors.New("metadata without token_endpoint: want one")
	}
	return nil
}

// SupportsPKCE reports whether the server declares support of S256.
//
// Spec: 2026-07-28 basic/authorization/security-considerations#authorization-code-protection
func (m *ServerMetadata) SupportsPKCE() bool { return slices.Contains(m.ChallengeMethods, S256) }

// StatusError reports a response that has no document.
type StatusError struct{ Status int }

func (e *StatusError) Error() string {
	return fmt.Sprintf("HTTP status %d %s", e.Status, http.StatusText(e.Status))
}

// DocumentError reports a response whose body is not the document that was asked for.
type DocumentError struct{ text string }

func (e *DocumentError) Error() string { return e.text }

// FetchDocument fetches a JSON document of at most 1 MiB and 32 levels and
// decodes it into out. A response without one is a *StatusError, one with another
// document is a *DocumentError. Errors repeat nothing of the document.
func FetchDocument(ctx context.Context, c *http.Client, address string, header http.Header, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return errors.New("want a valid URL")
	}
	if header != nil {
		req.Header = header.Clone()
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return fetchError(resp, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &StatusError{resp.StatusCode}
	}
	return ReadDocument(resp, out)
}

// ReadDocument decodes the body of a response, see FetchDocument.
func ReadDocument(resp *http.Response, out any) error {
	switch media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case media == "application/x-www-form-urlencoded":
		return &DocumentError{"response is form-encoded: want JSON, with Content-Type application/json"}
	case media == "text/html":
		return &DocumentError{"response is not JSON but a web page: want Content-Type application/json"}
	case err != nil || media != "application/json" && !strings.HasSuffix(media, "+json"):
		return &DocumentError{"response is not JSON: want Content-Type application/json"}
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return fetchError(nil, err)
	case len(text) > maxDocument:
		return fmt.Errorf("document exceeds %d bytes", maxDocument)
	}
	return decodeDocument(text, out)
}

func decodeDocument(text []byte, out any) error {
	if err := checkDepth(text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return &DocumentError{"document: want a JSON object whose members have the types of the standard"}
	}
	return nil
}

// checkDepth returns an error if the document is nested too deep.
func checkDepth(text []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		_, err := d.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &DocumentError{"document: want well-formed JSON without duplicate names"}
		case d.StackDepth() > maxDepth:
			return fmt.Errorf("document exceeds %d levels", maxDepth)
		}
	}
}

// fetchError returns the cause of a failed exchange, without its URL. Only the
// error of a redirect that was not followed has a response.
func fetchError(resp *http.Response, err error) error {
	u, ok := errors.AsType[*url.Error](err)
	if resp != nil && ok {
		return u.Err
	}
	return BrokenError(err)
}
