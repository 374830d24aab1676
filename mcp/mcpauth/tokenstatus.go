package mcpauth

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// TokenStatus describes the tokens that a Client has for a server, without the
// tokens themselves.
type TokenStatus struct {
	// Issuer is the authorization server, and ClientID the client that the access
	// token was issued to.
	Issuer, ClientID string
	// Resource is the identifier of the server for which the token was issued.
	Resource string
	// Scopes are the granted scopes, if the issuer declares them.
	Scopes []string
	// MissingScopes are those that a refused request has lacked since the last sign-in. The next one requests them.
	MissingScopes []string
	// Expires is when the access token expires, or zero if the issuer does not
	// declare it.
	Expires time.Time
	// Usable reports that the access token has neither expired nor been refused,
	// and Renewable that the client can get another without the user.
	Usable, Renewable bool
}

// Status describes the tokens for the server at the URL. It returns nil if there
// are none. It reads the Store and sends no requests.
func (c *Client) Status(ctx context.Context, server string) (*TokenStatus, error) {
	u, err := oauth.ParseEndpoint(server)
	if err != nil {
		return nil, err
	}
	b, g, err := c.storedGrantFor(ctx, u)
	if g == nil || err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(b.Missing), func(s string) bool { return s == scopeOfflineAccess || slices.Contains(b.Scopes, s) })
	return &TokenStatus{
		Issuer: g.Issuer, ClientID: g.ClientID, Resource: g.Resource, Scopes: slices.Clone(g.Scopes), MissingScopes: missing, Expires: g.Expires,
		Usable: g.usable(time.Now()), Renewable: c.tokenSource.renewable(g),
	}, nil
}

// storedGrantFor returns the binding of a server and the grant for it, nil if there is none.
func (c *Client) storedGrantFor(ctx context.Context, u *url.URL) (*binding, *grant, error) {
	if c.err != nil {
		return nil, nil, c.err
	}
	b, err := c.boundNow(ctx, u)
	if b == nil || err != nil {
		return nil, nil, err
	}
	g, _, err := c.tokenSource.load(ctx, c.key(b))
	return b, g, err
}
