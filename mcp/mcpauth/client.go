package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dpop"
	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// Client signs in to protected MCP servers and stores the tokens. It is the mcpclient.Authorizer of
// one user, or of one program without a user, for any number of servers: each server gets only the
// tokens that were issued for it, over https, or over http on this machine. It is safe for
// concurrent use.
//
//	Authorize                the token for the server of a request, renewed when due
//	Challenged
//	├─ 401: unauthorized
//	│   ├─ discover          resource metadata → authorization server → its metadata
//	│   ├─ renewed           uses a newer token of another caller, or refreshes the token
//	│   └─ signIn            the user signs in, or the Grant gets a token
//	└─ 403: stepUp           signIn with more scopes, if scopes are missing
//
// Callers that one server challenges at the same time share one sign-in and its
// result. Errors are of type *SignInError.
type Client struct {
	opts        *ClientOptions
	err         error // of the options
	store       Store
	tokenSource *tokenSource
	grant       activeGrant // nil: users sign in
	nonces      *dpop.Nonces
	publicHTTP  *http.Client // for URLs from servers with public addresses
	localHTTP   *http.Client // for URLs from servers on loopback
	shared      callGroup

	mu       sync.Mutex
	bindings map[string]*binding // by serverURL
	expected map[string]*signIn  // by state
	renewals map[grantKey]*renewed
	steps    map[step]*attempts
}

// binding is the resource and the authorization server of an MCP server, as
// discovered.
type binding struct {
	Issuer   string   `json:"issuer"`
	Resource string   `json:"resource"`
	ClientID string   `json:"client_id"`
	Scopes   []string `json:"scopes,omitempty"`  // all that were requested until now
	Missing  []string `json:"missing,omitempty"` // that a refused request has lacked since
	Proof    bool     `json:"proof,omitzero"`    // see target.proof
	Old      bool     `json:"old,omitzero"`      // see target.old
}

// isFor reports whether a binding, which may be nil, is for the resource and the authorization
// server of a target.
func (b *binding) isFor(t *target) bool {
	return b != nil && oauth.SameIdentifier(b.Issuer, t.metadata.Issuer) && oauth.SameIdentifier(b.Resource, t.resource)
}

// renewed is the newest token that this process got.
type renewed struct {
	access oauth.Secret
	uses   int  // number of requests that were sent with it
	last   bool // there is no other method to get a token
}

// NewClient returns a client. The options may be nil. If they are invalid,
// every call returns the error.
func NewClient(opts *ClientOptions) *Client {
	c := &Client{
		opts: opts.copied(), nonces: new(dpop.Nonces),
		bindings: make(map[string]*binding), expected: make(map[string]*signIn),
		renewals: make(map[grantKey]*renewed), steps: make(map[step]*attempts),
	}
	c.store, c.shared.logger = c.opts.store(), c.opts.Logger
	c.publicHTTP, c.localHTTP = egress.Guarded(c.opts.policy(false)), egress.Guarded(c.opts.policy(true))
	if c.opts.Grant != nil {
		c.grant, c.err = c.opts.Grant.activate()
	}
	c.err = errors.Join(c.err, c.opts.check())
	c.tokenSource = &tokenSource{
		store: c.store, renew: c.renew, noUser: c.grant != nil,
		report: func(err error) { c.opts.Logger.Warn("authorization", "err", err) },
	}
	return c
}

// Authorize adds the token of its server to a request, if there is one. If the
// token must be renewed, it sends a request to the authorization server; it
// never asks the user.
//
// Spec: 2026-07-28 basic/authorization#access-token-usage; RFC 6750 2.1; RFC 9449 7.1
func (c *Client) Authorize(req *http.Request) error {
	if err := c.authorize(req); err != nil {
		return newSignInError(serverURL(req.URL), err)
	}
	return nil
}

func (c *Client) authorize(req *http.Request) error {
	if c.err != nil || !oauth.Secure(req.URL) {
		return c.err
	}
	b, err := c.boundTo(req.Context(), req.URL)
	if b == nil || err != nil {
		return err
	}
	g, err := c.tokenSource.token(req.Context(), c.key(b))
	switch {
	case g == nil && (err == nil || errors.Is(err, ErrSignInRequired)):
		return nil // the server will answer with 401
	case err != nil:
		return err
	}
	c.countUse(g.key(), g.Access)
	return c.attach(req, g)
}

// attach adds a token to a request.
func (c *Client) attach(req *http.Request, g *grant) error {
	req.Header.Set("Authorization", g.Type+" "+g.Access.Reveal())
	if g.Type != oauth.TypeDPoP {
		return nil
	}
	p, err := g.prover(c.nonces)
	if err != nil || p == nil {
		return errors.Join(errors.New("the token is bound to a key that was not stored"), err)
	}
	proof, err := p.Proof(req.Method, req.URL.String(), g.Access)
	if err == nil {
		req.Header.Set("DPoP", proof)
	}
	return err
}

// attached returns the token that a request was sent with, empty if none.
func attached(req *http.Request) oauth.Secret {
	_, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	return oauth.Secret(token)
}

// Challenged gets a token for a server that has answered a request with 401, or a token with more
// scopes after 403. It may take as long as the user takes to sign in. If it returns nil, authorize
// the request and send it again.
//
// Spec: 2026-07-28 basic/authorization#error-handling
func (c *Client) Challenged(req *http.Request, resp *http.Response) error {
	if err := c.challenged(req, readChallenge(resp), resp); err != nil {
		return newSignInError(serverURL(req.URL), err)
	}
	return nil
}

func (c *Client) challenged(req *http.Request, ch challenged, resp *http.Response) error {
	switch {
	case c.err != nil:
		return c.err
	case !oauth.Secure(req.URL):
		return errors.New("tokens are only sent over https, or over http on this machine: want such a URL")
	}
	fresh := c.nonces.Record(req.URL, resp.Header)
	switch {
	case resp.StatusCode == http.StatusUnauthorized && fresh && ch.code == "use_dpop_nonce":
		return nil
	case resp.StatusCode == http.StatusUnauthorized:
		return c.shared.do(req.Context(), serverURL(req.URL), func(ctx context.Context) error {
			return c.unauthorized(ctx, req, ch)
		})
	case resp.StatusCode == http.StatusForbidden && ch.code == "insufficient_scope":
		return c.stepUp(req, ch)
	}
	return fmt.Errorf("%w: HTTP status %d without a challenge for more scopes", ErrDenied, resp.StatusCode)
}

// challenged is what a server requires, according to its challenges of the
// schemes that we support.
type challenged struct {
	code      string
	scopes    []string
	hasScopes bool
	metadata  string // URL
	proof     bool   // a token that is bound to a key
}

// Spec: RFC 6750 3; RFC 9728 5.1; RFC 9449 7.1
func readChallenge(resp *http.Response) challenged {
	var ch challenged
	offered := make(map[string]bool)
	for _, one := range oauth.ParseChallenges(resp.Header.Values("WWW-Authenticate")) {
		if one.Scheme != "bearer" && one.Scheme != "dpop" {
			continue
		}
		offered[one.Scheme] = true
		if scope, ok := one.Params["scope"]; ok && !ch.hasScopes {
			ch.scopes, ch.hasScopes = oauth.ParseScope(scope), true
		}
		ch.code = firstOf(ch.code, one.Params["error"])
		ch.metadata = firstOf(ch.metadata, one.Params["resource_metadata"])
	}
	ch.proof = offered["dpop"]
	return ch
}

func firstOf(held, other string) string {
	if held != "" {
		return held
	}
	return other
}

// unauthorized gets a token that replaces that of the request.
func (c *Client) unauthorized(ctx context.Context, req *http.Request, ch challenged) error {
	if newer, err := c.newer(ctx, req); newer || err != nil {
		return err
	}
	t, err := c.discover(ctx, req, ch)
	if err != nil {
		return err
	}
	return c.shared.do(ctx, fmt.Sprintf("%q %q", t.metadata.Issuer, t.resource), func(ctx context.Context) error {
		b, err := c.boundTo(ctx, req.URL)
		if err != nil {
			return err
		}
		same := b.isFor(t)
		if same || c.grant != nil {
			if done, err := c.renewed(ctx, t, b, attached(req), ch); done || err != nil {
				return err
			}
		}
		var held []string
		if same {
			held = b.Scopes
		}
		return c.prompt(ctx, t, c.scopes(t, ch, held))
	})
}

// prompt is signIn for a request that needs it. With ManualSignIn it returns
// ErrSignInRequired.
func (c *Client) prompt(ctx context.Context, t *target, scopes []string) error {
	if !c.opts.ManualSignIn {
		return c.signIn(ctx, t, scopes)
	}
	if len(scopes) == 0 {
		return fmt.Errorf("%w at %s", ErrSignInRequired, t.metadata.Issuer)
	}
	return fmt.Errorf("%w at %s, with the scopes %q", ErrSignInRequired, t.metadata.Issuer, strings.Join(scopes, " "))
}

// newer reports whether there is already another token than that of the
// request.
func (c *Client) newer(ctx context.Context, req *http.Request) (bool, error) {
	b, err := c.boundNow(ctx, req.URL)
	if b == nil || err != nil {
		return false, err
	}
	text, err := c.store.Load(ctx, c.key(b).String())
	if err != nil {
		return false, err
	}
	g, err := decodeGrant(text, c.key(b))
	return err == nil && g.usable(time.Now()) && !g.Access.Equal(attached(req)), err
}

// renewed gets another token without the user, and reports whether there is one. For a Grant this
// is the only way.
func (c *Client) renewed(ctx context.Context, t *target, b *binding, refused oauth.Secret, ch challenged) (bool, error) {
	if c.grant != nil {
		var err error
		if b, err = c.bind(ctx, t, c.grant.client(), c.scopes(t, ch, nil)); err != nil {
			return false, err
		}
	}
	key := c.key(b)
	if r := c.refusedAtFirst(key, refused); r != nil {
		return false, r.deniedError()
	}
	if err := c.tokenSource.rejected(ctx, key, refused); err != nil {
		return false, err
	}
	g, err := c.tokenSource.token(ctx, key)
	if c.grant == nil && (g == nil && err == nil || errors.Is(err, ErrSignInRequired)) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.recordRenewal(key, &renewed{access: g.Access, last: c.grant != nil})
	return true, nil
}

func (c *Client) recordRenewal(key grantKey, r *renewed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.renewals[key] = r
}

// countUse counts a request that is sent with a token.
func (c *Client) countUse(key grantKey, access oauth.Secret) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.renewals[key]; r != nil && r.access.Equal(access) {
		r.uses++
	}
}

// refusedAtFirst returns the newest token if it was refused in the first request that it
// was sent with. It was not refused because of its age, so another token of this kind
// would be refused, too.
func (c *Client) refusedAtFirst(key grantKey, refused oauth.Secret) *renewed {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.renewals[key]
	if r == nil || r.uses > 1 || !r.access.Equal(refused) {
		return nil
	}
	return r
}

// deniedError returns the error for a token that was refused although it is new, or
// nil if there is another way to get one.
func (r *renewed) deniedError() error {
	if !r.last {
		return nil
	}
	return fmt.Errorf("%w: the server has refused a new token: check that it accepts tokens of its authorization server", ErrDenied)
}

// renew implements tokenSource.renew.
func (c *Client) renew(ctx context.Context, key grantKey, old *grant) (*grant, error) {
	t, b, err := c.renewTarget(ctx, key)
	if err != nil {
		return nil, err
	}
	if c.grant != nil {
		g, err := c.acquire(ctx, t, b, old)
		if err == nil {
			g.Issuer = key.Issuer // which the metadata may spell in another way by now
		}
		return g, err
	}
	k, err := c.clientOfGrant(ctx, t.metadata, key.ClientID)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return nil, fmt.Errorf("%w: client %q is no longer registered", ErrSignInRequired, key.ClientID)
	}
	p, err := old.prover(c.nonces)
	if err != nil {
		return nil, err
	}
	e, err := c.tokenEndpoint(t, k, p)
	if err != nil {
		return nil, err
	}
	g, err := refreshed(ctx, e, old)
	if refused, ok := errors.AsType[*oauth.Error](err); ok && refused.UnknownClient() {
		err = errors.Join(err, c.doubtRegistration(ctx, &k.registration, true))
	}
	return g, err
}

// renewTarget returns the target at which the token of a key is renewed.
func (c *Client) renewTarget(ctx context.Context, key grantKey) (*target, *binding, error) {
	u, err := oauth.ParseEndpoint(key.Resource)
	if err != nil {
		return nil, nil, err
	}
	t := &target{resource: key.Resource, http: c.guarded(u)}
	b := c.boundFor(key)
	if b != nil && b.Old {
		t.metadata, err = oldMetadata(ctx, t.http, key.Issuer)
	} else {
		t.metadata, err = serverMetadata(ctx, t.http, key.Issuer, nil, nil)
	}
	return t, b, err
}

// acquire gets a token without a user.
func (c *Client) acquire(ctx context.Context, t *target, b *binding, old *grant) (*grant, error) {
	r := &grantRequest{
		HTTP: t.http, Issuer: t.metadata.Issuer, TokenURL: t.metadata.TokenEndpoint,
		AuthMethods: t.metadata.TokenAuthMethods, Profiles: t.metadata.GrantProfiles, Resource: t.resource, Account: c.opts.Account,
	}
	if b != nil {
		r.Scopes, t.proof = b.Scopes, b.Proof
	}
	var err error
	switch {
	case old != nil && old.ProofKey != "":
		r.Prover, err = old.prover(c.nonces)
	case c.bindsTokens(t):
		r.Prover, err = dpop.NewProver(c.nonces)
	}
	if err != nil {
		return nil, err
	}
	return c.grant.acquire(ctx, r)
}

// scopeOfflineAccess is the scope that requests a refresh token.
const scopeOfflineAccess = "offline_access"

// scopes returns the scopes that a sign-in requests: those of the challenge, or
// else all that the server supports, and those that were granted before. An
// empty list requests the default of the authorization server.
//
// Spec: 2026-07-28 basic/authorization#scope-selection-strategy and #refresh-tokens
func (c *Client) scopes(t *target, ch challenged, held []string) []string {
	asked := t.scopes
	if ch.hasScopes {
		asked = ch.scopes
	}
	asked = slices.DeleteFunc(oauth.Scopes(slices.Concat(held, asked)), func(s string) bool { return s == scopeOfflineAccess })
	if len(asked) > 0 && c.grant == nil && slices.Contains(t.metadata.ScopesSupported, scopeOfflineAccess) {
		asked = append(asked, scopeOfflineAccess)
	}
	return asked
}

func (c *Client) key(b *binding) grantKey {
	return grantKey{Issuer: b.Issuer, Resource: b.Resource, Account: c.opts.Account, ClientID: b.ClientID}
}

func (c *Client) grantKey(t *target, id string) grantKey {
	return grantKey{Issuer: t.metadata.Issuer, Resource: t.resource, Account: c.opts.Account, ClientID: id}
}

func (o *ClientOptions) check() error {
	if o.MetadataURL != "" {
		return checkMetadataURL(o.MetadataURL)
	}
	for _, r := range o.Registered {
		if _, err := oauth.ParseIssuer(r.Issuer); err != nil || r.ID == "" {
			return fmt.Errorf("ClientOptions.Registered: client %q of %q: want an Issuer, as https URL, and an ID", r.ID, r.Issuer)
		}
	}
	return nil
}

var _ interface {
	Authorize(*http.Request) error
	Challenged(*http.Request, *http.Response) error
} = (*Client)(nil)

// bind stores the binding of a server.
func (c *Client) bind(ctx context.Context, t *target, id string, scopes []string) (*binding, error) {
	b := &binding{Issuer: t.metadata.Issuer, Resource: t.resource, ClientID: id, Scopes: scopes, Proof: t.proof, Old: t.old}
	err := c.store.Update(ctx, c.bindingKey(t.server), func([]byte) ([]byte, error) { return encodeRecord(b) })
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bindings[t.server] = b
	return b, nil
}

func (c *Client) bindingKey(server string) string {
	return fmt.Sprintf("server %q %q", server, c.opts.Account)
}

// boundTo returns the binding of the server of a URL, or nil if it is not known or was for another
// query.
func (c *Client) boundTo(ctx context.Context, u *url.URL) (*binding, error) {
	server := serverURL(u)
	b := c.bound(server)
	if b == nil {
		var err error
		if b, err = c.loadBinding(ctx, server); b == nil || err != nil {
			return nil, err
		}
	}
	if !covers(b.Resource, u) {
		return nil, nil
	}
	return b, nil
}

// boundNow is like boundTo, but reads the Store, because another process may
// have signed in or out.
func (c *Client) boundNow(ctx context.Context, u *url.URL) (*binding, error) {
	c.unbind(serverURL(u))
	return c.boundTo(ctx, u)
}

func (c *Client) unbind(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.bindings, server)
}

func (c *Client) bound(server string) *binding {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bindings[server]
}

// loadBinding reads the binding that an earlier run has stored. The Store is trusted.
func (c *Client) loadBinding(ctx context.Context, server string) (*binding, error) {
	text, err := c.store.Load(ctx, c.bindingKey(server))
	if err != nil {
		return nil, err
	}
	b, err := decodeRecord[binding](text)
	if b == nil || err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bindings[server] == nil {
		c.bindings[server] = b
	}
	return c.bindings[server], nil
}

// boundFor returns a binding of a key, or nil if there is none.
func (c *Client) boundFor(key grantKey) *binding {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.bindings {
		if c.key(b) == key {
			return b
		}
	}
	return nil
}
