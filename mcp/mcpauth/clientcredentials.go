package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
)

// ClientCredentials gets tokens for the client itself, which was registered at the
// authorization server beforehand. A Key is better than a Secret: it never leaves
// the client.
//
// Spec: io.modelcontextprotocol/oauth-client-credentials; RFC 6749 4.4; RFC 7523 2.2
type ClientCredentials struct {
	// Issuer is the authorization server that knows the client. Required.
	Issuer string
	// ID is the identifier of the client. Required.
	ID string
	// Secret or Key shows that it is the client. One of them is required.
	Secret Secret
	Key    *PrivateKey
	// Scopes are asked for besides those that the MCP server wants.
	Scopes []string
}

func (c *ClientCredentials) machine() (machine, error) {
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
