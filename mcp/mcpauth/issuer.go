package mcpauth

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"net/http"

	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/jwt"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// issuerServer is an authorization server, as used by a protected resource. Its
// metadata is untrusted, so requests use a guarded client.
type issuerServer struct {
	issuer string
	http   *http.Client
}

// issuerDocument is the part of the metadata that a protected resource needs.
//
// Spec: RFC 8414 2; RFC 7662 4
type issuerDocument struct {
	Issuer        string `json:"issuer"`
	Keys          string `json:"jwks_uri"`
	Introspection string `json:"introspection_endpoint"`
}

// endpoint returns the URL of an endpoint from the metadata: from the first of the documents at the
// well-known URLs that is that of the issuer and has the endpoint.
//
// Spec: RFC 8414 3.3; 2026-07-28 basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery
func (s *issuerServer) endpoint(ctx context.Context, name string, of func(*issuerDocument) string) (string, error) {
	issuer, err := oauth.ParseIssuer(s.issuer)
	if err != nil {
		return "", err
	}
	d, err := firstDocument(ctx, s.http, oauth.ServerMetadataURLs(issuer), nil, new(searchError), func(_ string, d *issuerDocument) error {
		if !oauth.SameIdentifier(d.Issuer, s.issuer) {
			return fmt.Errorf("metadata of another issuer: found %s, want %q", oauth.ShownIssuer(d.Issuer), s.issuer)
		}
		if _, err := oauth.ParseEndpoint(oauth.ResolveEndpoint(issuer, of(d))); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("metadata of issuer %s: %w", s.issuer, explainBlockedNetwork(err))
	}
	return oauth.ResolveEndpoint(issuer, of(d)), nil
}

// fetchKeys returns the keys of the issuer, from the given URL if it is not
// empty.
//
// Spec: RFC 7517 5
func (s *issuerServer) fetchKeys(ctx context.Context, address string) ([]jwt.Key, error) {
	if address == "" {
		var err error
		if address, err = s.endpoint(ctx, "jwks_uri", func(d *issuerDocument) string { return d.Keys }); err != nil {
			return nil, err
		}
	}
	var set struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := oauth.FetchDocument(ctx, s.http, address, nil, &set); err != nil {
		return nil, fmt.Errorf("keys of issuer %s: %w", s.issuer, explainBlockedNetwork(err))
	}
	return jwt.ParseKeys(set.Keys), nil
}

// explainBlockedNetwork adds to the error of a blocked connection the option that allows it. Users of
// programs read it, too: the option is in parentheses.
func explainBlockedNetwork(err error) error {
	if _, blocked := errors.AsType[*egress.BlockedError](err); blocked {
		return fmt.Errorf("%w (in Go: mcpauth.AllowedNetworks)", err)
	}
	return err
}
