package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
)

// ClientCredentials gets tokens for the client itself, which must be registered at the
// authorization server. A Key is safer than a Secret, because it is never sent.
//
// Spec: io.modelcontextprotocol/oauth-client-credentials; RFC 6749 4.4; RFC 7523 2.2
type ClientCredentials struct {
	// Issuer is the authorization server at which the client is registered.
	// Required.
	Issuer string
	// ID is the identifier of the client. Required.
	ID string
	// Secret or Key authenticates the client. One of them is required.
	Secret Secret
	Key    *PrivateKey
	// Scopes are requested in addition to those that the MCP server requires.
	Scopes []string
}

func (c *ClientCredentials) activate() (activeGrant, error) {
	identity, err := newClientIdentity(c.Issuer, c.ID, c.Secret, c.Key)
	if err == nil && c.Secret == "" && c.Key == nil {
		err = errors.New("want a Secret or a Key")
	}
	if err != nil {
		return nil, fmt.Errorf("client credentials: %w", err)
	}
	return &clientCredentials{identity, c.Scopes}, nil
}

type clientCredentials struct {
	*clientIdentity
	scopes []string
}

func (c *clientCredentials) acquire(ctx context.Context, r *grantRequest) (*grant, error) {
	g, err := c.request(ctx, r, url.Values{"grant_type": {"client_credentials"}}, union(c.scopes, r.Scopes))
	if err != nil {
		return nil, fmt.Errorf("client credentials: %w", err)
	}
	return g, nil
}
