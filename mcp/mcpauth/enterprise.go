package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// Enterprise gets tokens for a user who has signed in at the identity provider
// of their organization, which decides what the user may access: it exchanges
// the user's ID token for an assertion (ID-JAG) that the authorization server
// of the MCP server accepts. The user is not asked, and no browser is opened.
//
// Spec: io.modelcontextprotocol/enterprise-managed-authorization; RFC 8693; RFC 7523 2.1; draft-ietf-oauth-identity-assertion-authz-grant
type Enterprise struct {
	// Issuer is the authorization server of the MCP server. Required.
	Issuer string
	// ID is the identifier of the client there, and Secret or Key authenticates it. A client
	// without either is public. An unregistered client can use the URL of its client ID metadata
	// document as ID.
	ID     string
	Secret Secret
	Key    *PrivateKey
	// Scopes are requested in addition to those that the MCP server requires.
	Scopes []string
	// IDToken returns a current ID token of the user. It is called for each exchange. Required.
	IDToken func(ctx context.Context) (Secret, error)
	// Provider is the identity provider that issued the ID token. Required.
	Provider IdentityProvider
}

// IdentityProvider is the OpenID provider at which the users of an organization
// sign in.
type IdentityProvider struct {
	Issuer   string // required
	TokenURL string // its token endpoint; required
	// ID is the identifier of the client there, for which the ID token was issued, and Secret or
	// Key authenticates it.
	ID     string
	Secret Secret
	Key    *PrivateKey
	// HTTP sends the request. Nil means a client that may reach any address, because the URL is
	// configured. Redirects are not followed.
	HTTP *http.Client
}

// Names of the exchange.
//
// Spec: RFC 8693 2.1, 3; RFC 7523 2.1; draft-ietf-oauth-identity-assertion-authz-grant 4, 6
const (
	grantTokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	grantJWTBearer     = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	tokenTypeIDToken   = "urn:ietf:params:oauth:token-type:id_token"
	tokenTypeIDJAG     = "urn:ietf:params:oauth:token-type:id-jag"
	profileIDJAG       = "urn:ietf:params:oauth:grant-profile:id-jag"
)

func (e *Enterprise) activate() (activeGrant, error) {
	m, err := e.newEnterprise()
	if err != nil {
		return nil, fmt.Errorf("enterprise-managed authorization: %w", err)
	}
	return m, nil
}

func (e *Enterprise) newEnterprise() (*enterprise, error) {
	if e.IDToken == nil {
		return nil, errors.New("want IDToken")
	}
	identity, err := newClientIdentity(e.Issuer, e.ID, e.Secret, e.Key)
	if err != nil {
		return nil, err
	}
	p := &e.Provider
	if _, err := oauth.ParseEndpoint(p.TokenURL); err != nil {
		return nil, fmt.Errorf("provider: TokenURL: %w", err)
	}
	atProvider, err := newClientIdentity(p.Issuer, p.ID, p.Secret, p.Key)
	if err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	endpoint := oauth.TokenEndpoint{HTTP: p.HTTP, URL: p.TokenURL, Issuer: p.Issuer, Auth: atProvider.auth(nil)}
	if endpoint.HTTP == nil {
		endpoint.HTTP = egress.Configured(nil, nil)
	}
	return &enterprise{identity, e.Scopes, e.IDToken, endpoint}, nil
}

type enterprise struct {
	*clientIdentity
	scopes   []string
	idToken  func(context.Context) (Secret, error)
	provider oauth.TokenEndpoint
}

func (e *enterprise) acquire(ctx context.Context, r *grantRequest) (*grant, error) {
	g, err := e.acquireToken(ctx, r, union(e.scopes, r.Scopes))
	if err != nil {
		return nil, fmt.Errorf("enterprise-managed authorization: %w", err)
	}
	return g, nil
}

func (e *enterprise) acquireToken(ctx context.Context, r *grantRequest, scopes []string) (*grant, error) {
	if err := e.check(r); err != nil {
		return nil, err
	}
	if len(r.Profiles) > 0 && !slices.Contains(r.Profiles, profileIDJAG) {
		return nil, fmt.Errorf("authorization server %q: want one with the grant profile %s", r.Issuer, profileIDJAG)
	}
	assertion, err := e.exchange(ctx, r, scopes)
	if err != nil {
		return nil, fmt.Errorf("identity provider: %w", err)
	}
	return e.request(ctx, r, url.Values{"grant_type": {grantJWTBearer}, "assertion": {assertion.Reveal()}}, scopes)
}

// exchange requests an assertion for the authorization server and the resource.
func (e *enterprise) exchange(ctx context.Context, r *grantRequest, scopes []string) (oauth.Secret, error) {
	idToken, err := e.idToken(ctx)
	if err != nil {
		return "", fmt.Errorf("ID token: %w", err)
	}
	form := url.Values{
		"grant_type":           {grantTokenExchange},
		"requested_token_type": {tokenTypeIDJAG},
		"subject_token":        {idToken.Reveal()},
		"subject_token_type":   {tokenTypeIDToken},
		"audience":             {r.Issuer},
		"resource":             {r.Resource},
	}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	t, err := e.provider.Request(ctx, form)
	if err != nil {
		return "", err
	}
	if t.IssuedType != tokenTypeIDJAG {
		return "", errors.New("token of another type: want " + tokenTypeIDJAG)
	}
	return t.Access, nil
}
