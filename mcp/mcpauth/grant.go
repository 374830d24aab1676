package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/dpop"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// Grant gets tokens without an interactive sign-in: *ClientCredentials, *Enterprise or *Workload.
// Each is for one authorization server, its Issuer: if the MCP server names another one, nothing is
// sent there.
type Grant interface {
	// activate returns the implementation of the grant. The error names missing
	// fields.
	activate() (activeGrant, error)
}

var (
	_ Grant = (*ClientCredentials)(nil)
	_ Grant = (*Enterprise)(nil)
	_ Grant = (*Workload)(nil)
)

// activeGrant is a Grant in use. It is safe for concurrent use.
type activeGrant interface {
	// issuer is the authorization server that the grant is for.
	issuer() string
	// client is the identifier of the client, of the grant's key.
	client() string
	// acquire requests a token, without a refresh token, from the authorization
	// server. Nothing is sent to another server than that of issuer.
	acquire(ctx context.Context, r *grantRequest) (*grant, error)
}

// grantRequest is the authorization server and the resource of a
// token request without a user.
type grantRequest struct {
	HTTP        *http.Client // guarded
	Issuer      string
	TokenURL    string
	AuthMethods []string // token_endpoint_auth_methods_supported
	Profiles    []string // authorization_grant_profiles_supported
	Resource    string
	Account     string
	Scopes      []string     // besides those of the Grant
	Prover      *dpop.Prover // nil: the token is not bound to a key
}

// clientIdentity is the identifier and the credentials of a client at one
// authorization server.
type clientIdentity struct {
	server     string // its issuer
	id         string
	secret     oauth.Secret
	assertions *assertions // nil without a private key
}

func newClientIdentity(server, id string, secret Secret, key *PrivateKey) (*clientIdentity, error) {
	if _, err := oauth.ParseIssuer(server); err != nil {
		return nil, fmt.Errorf("Issuer: %w", err)
	}
	c := &clientIdentity{server: server, id: id, secret: oauth.Secret(secret)}
	switch {
	case id == "":
		return nil, errors.New("want the ID of the client")
	case secret != "" && key != nil:
		return nil, errors.New("want a Secret or a Key, not both")
	case key == nil:
		return c, nil
	}
	var err error
	c.assertions, err = newAssertions(id, key)
	return c, err
}

func (c *clientIdentity) issuer() string { return c.server }

func (c *clientIdentity) client() string { return c.id }

// auth returns the client authentication for a server that supports these methods.
func (c *clientIdentity) auth(supported []string) oauth.ClientAuth {
	switch {
	case c.assertions != nil:
		return oauth.ClientAuth{Method: oauth.AuthPrivateKeyJWT, ID: c.id, Assert: c.assertions.assert}
	case c.secret != "":
		return oauth.ClientAuth{Method: secretMethod(supported), ID: c.id, Secret: c.secret}
	}
	return oauth.ClientAuth{Method: oauth.AuthNone, ID: c.id}
}

// secretMethod returns how a secret is sent: in the header, unless the server
// only supports the form.
//
// Spec: RFC 8414 2; RFC 6749 2.3.1
func secretMethod(supported []string) string {
	if slices.Contains(supported, oauth.AuthPost) && !slices.Contains(supported, oauth.AuthBasic) {
		return oauth.AuthPost
	}
	return oauth.AuthBasic
}

// request requests a token for the resource from the authorization server of
// the identity.
func (c *clientIdentity) request(ctx context.Context, r *grantRequest, form url.Values, scopes []string) (*grant, error) {
	if err := c.check(r); err != nil {
		return nil, err
	}
	e := &oauth.TokenEndpoint{HTTP: r.HTTP, URL: r.TokenURL, Issuer: r.Issuer, Auth: c.auth(r.AuthMethods)}
	if r.Prover != nil {
		e.Prover = r.Prover
	}
	form.Set("resource", r.Resource)
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	t, err := e.Request(ctx, form)
	if err != nil {
		return nil, err
	}
	g, err := newGrant(grantKey{r.Issuer, r.Resource, r.Account, c.id}, t, scopes, r.Prover)
	if err != nil {
		return nil, err
	}
	g.Refresh = "" // not needed: a new token costs as much as a refreshed one
	return g, nil
}

// check returns an error if the request would go to a server that the identity
// does not belong to.
func (c *clientIdentity) check(r *grantRequest) error {
	if !oauth.SameIdentifier(r.Issuer, c.server) {
		return fmt.Errorf("authorization server %q: the credentials are for %q", r.Issuer, c.server)
	}
	return nil
}

// union returns the scopes of both, without duplicates.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, scope := range b {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}
