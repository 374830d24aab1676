package mcpauth

import (
	"context"
	"fmt"
	"net/url"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// SignOut removes the token for the server at the URL, and revokes it if its authorization server
// has a revocation endpoint. If revoking fails, the token is still removed here; the error means
// that copies of it may still be valid. Tokens of a Grant are not revoked. The registration of the
// client is kept. Without a token SignOut does nothing.
//
// Spec: RFC 7009
func (c *Client) SignOut(ctx context.Context, server string) error {
	u, err := oauth.ParseEndpoint(server)
	if err != nil {
		return fmt.Errorf("sign out of %s: %w", server, err)
	}
	if err := c.signOutAt(ctx, u); err != nil {
		return fmt.Errorf("sign out of %s: %w", serverURL(u), err)
	}
	return nil
}

func (c *Client) signOutAt(ctx context.Context, u *url.URL) error {
	g, err := c.storedGrantFor(ctx, u)
	if g == nil || err != nil {
		return err
	}
	if err := c.tokenSource.forget(ctx, g.key()); err != nil {
		return err
	}
	if err := c.store.Update(ctx, c.bindingKey(serverURL(u)), func([]byte) ([]byte, error) { return nil, nil }); err != nil {
		return err
	}
	defer c.unbind(serverURL(u)) // revoke still has to know it
	if c.grant != nil {
		return nil
	}
	if err := c.revoke(ctx, g); err != nil {
		return fmt.Errorf("the token was removed here, but not revoked: %w", err)
	}
	return nil
}

// revoke revokes the refresh token of a grant, which also revokes its access
// tokens, or else the access token.
func (c *Client) revoke(ctx context.Context, g *grant) error {
	t, _, err := c.renewTarget(ctx, g.key())
	if err != nil || t.metadata.RevocationEndpoint == "" {
		return err
	}
	k, err := c.clientOfGrant(ctx, t.metadata, g.ClientID)
	if err != nil {
		return err
	}
	if k == nil {
		return fmt.Errorf("client %q is no longer registered", g.ClientID)
	}
	e, err := c.tokenEndpoint(t, k, nil)
	if err != nil {
		return err
	}
	if g.Refresh != "" {
		return e.Revoke(ctx, t.metadata.RevocationEndpoint, g.Refresh, oauth.HintRefresh)
	}
	return e.Revoke(ctx, t.metadata.RevocationEndpoint, g.Access, oauth.HintAccess)
}
