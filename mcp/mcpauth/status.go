package mcpauth

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// Held is what a Client holds for a server, but for the tokens themselves.
type Held struct {
	// Issuer is the authorization server, and ClientID who the token was issued to.
	Issuer, ClientID string
	// Resource is the server that it is for, as the server's metadata has it.
	Resource string
	// Scopes are those that were granted, as far as the issuer says.
	Scopes []string
	// Expires is when the access token ends. Zero: it does not say.
	Expires time.Time
	// Usable tells that the access token has neither expired nor been refused, and
	// Renewable that there is a way to another without the user.
	Usable, Renewable bool
}

// Status returns what is held for the server at the URL, and nil if that is nothing.
// It asks nobody but the Store.
func (c *Client) Status(ctx context.Context, server string) (*Held, error) {
	u, err := oauth.ParseEndpoint(server)
	if err != nil {
		return nil, err
	}
	g, err := c.heldFor(ctx, u)
	if g == nil || err != nil {
		return nil, err
	}
	return &Held{
		Issuer: g.Issuer, ClientID: g.ClientID, Resource: g.Resource, Scopes: slices.Clone(g.Scopes), Expires: g.Expires,
		Usable: g.usable(time.Now()), Renewable: c.keeper.renewable(g),
	}, nil
}

// heldFor returns the grant for a server, nil if there is none.
func (c *Client) heldFor(ctx context.Context, u *url.URL) (*grant, error) {
	if c.err != nil {
		return nil, c.err
	}
	b, err := c.boundNow(ctx, u)
	if b == nil || err != nil {
		return nil, err
	}
	g, _, err := c.keeper.load(ctx, c.key(b))
	return g, err
}
