package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// SignOut removes the token for the server at the URL, and revokes it if its authorization server
// has a revocation endpoint. If revoking fails, the token is still removed here; the error means
// that copies of it may still be valid. Tokens of a Grant are not revoked. The registration of the
// client is kept, unless the authorization server seems to have forgotten it. Without a token
// SignOut sends no request.
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
	if c.err != nil {
		return c.err
	}
	b, err := c.boundNow(ctx, u)
	if b == nil || err != nil {
		return err
	}
	g, _, err := c.tokenSource.load(ctx, c.key(b))
	if err != nil {
		return err
	}
	if err := c.tokenSource.forget(ctx, c.key(b)); err != nil {
		return err
	}
	if err := c.store.Update(ctx, c.bindingKey(serverURL(u)), func([]byte) ([]byte, error) { return nil, nil }); err != nil {
		return err
	}
	defer c.unbind(serverURL(u)) // revoke still has to know it
	if c.grant != nil {
		return nil
	}
	if g != nil {
		if err := c.revoke(ctx, g); err != nil {
			err = fmt.Errorf("the token was removed here, but not revoked: %w", err)
			return errors.Join(err, c.removeDoubtful(ctx, b.Issuer))
		}
	}
	return c.removeDoubtful(ctx, b.Issuer)
}

// removeDoubtful removes the registration at an issuer if that seems to have forgotten it.
func (c *Client) removeDoubtful(ctx context.Context, issuer string) error {
	r, err := c.storedRegistration(ctx, issuer)
	if r == nil || !r.Doubtful || err != nil {
		return err
	}
	return c.changeRegistration(ctx, r, func(*registration) *registration { return nil })
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
