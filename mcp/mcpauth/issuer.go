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

// document returns the metadata from the first of the well-known URLs that has
// it. Metadata of another issuer is an error.
//
// Spec: RFC 8414 3.3; 2026-07-28 basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery
func (s *issuerServer) document(ctx context.Context) (*issuerDocument, error) {
	issuer, err := oauth.ParseIssuer(s.issuer)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, place := range oauth.ServerMetadataURLs(issuer) {
		var d issuerDocument
		err := oauth.FetchDocument(ctx, s.http, place, nil, &d)
		switch {
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("%s: %w", place, explainBlockedNetwork(err)))
			continue
		case !oauth.SameIdentifier(d.Issuer, s.issuer):
			return nil, fmt.Errorf("metadata of issuer %s: found the issuer %s, want that one", s.issuer, oauth.ShownIssuer(d.Issuer))
		}
		return &d, nil
	}
	return nil, fmt.Errorf("metadata of issuer %s: %w", s.issuer, failed)
}

// fetchKeys returns the keys of the issuer, from the given URL if it is not
// empty.
//
// Spec: RFC 7517 5
func (s *issuerServer) fetchKeys(ctx context.Context, address string) ([]jwt.Key, error) {
	if address == "" {
		d, err := s.document(ctx)
		if err != nil {
			return nil, err
		}
		address = d.Keys
	}
	var set struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if _, err := oauth.ParseEndpoint(address); err != nil {
		return nil, fmt.Errorf("keys of issuer %s: %w", s.issuer, err)
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
