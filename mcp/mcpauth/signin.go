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

// SignIn signs in to the server at the URL, even if there is a token already. It requests the given
// scopes in addition to those that the server requires, those that were requested before, and
// those that a refused request has lacked since. It sends the server a GET without a token, to
// discover the authorization server, and a POST (a ping) if the response to the GET names no
// metadata, both with the ServerHeader of the options. With a Grant it gets a new token. The error
// is a *SignInError.
//
// Spec: 2026-07-28 basic/authorization/authorization-server-discovery
func (c *Client) SignIn(ctx context.Context, server string, scopes ...string) error {
	u, err := oauth.ParseEndpoint(server)
	if err != nil {
		return newSignInError(server, err)
	}
	if err := c.signInAt(ctx, u, scopes); err != nil {
		return newSignInError(serverURL(u), err)
	}
	return nil
}

func (c *Client) signInAt(ctx context.Context, u *url.URL, more []string) error {
	if c.err != nil {
		return c.err
	}
	t, ch, err := c.probe(ctx, u)
	if err != nil {
		return err
	}
	if c.grant != nil {
		return c.acquireAgain(ctx, t, ch)
	}
	b, err := c.boundNow(ctx, u)
	if err != nil {
		return err
	}
	if b.isFor(t) {
		more = slices.Concat(b.Scopes, b.Missing, more)
	}
	return c.signIn(ctx, t, c.scopes(t, ch, more))
}

// probe sends requests without a token, and returns the challenge. Some servers answer only a
// POST with one.
func (c *Client) probe(ctx context.Context, u *url.URL) (*target, challenged, error) {
	req, ch, err := c.probeBy(ctx, u, http.MethodGet, "")
	if err != nil {
		return nil, challenged{}, fmt.Errorf("ask the server for its authorization server: %w", err)
	}
	if ch.metadata == "" {
		if _, posted, err := c.probeBy(ctx, u, http.MethodPost, ping); err == nil && posted.metadata != "" {
			ch = posted
		}
	}
	t, err := c.discover(ctx, req, ch)
	return t, ch, err
}

// ping is a request that changes nothing at a server that serves it.
const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// probeBy sends one request without a token, and returns it with the challenge of its response.
func (c *Client) probeBy(ctx context.Context, u *url.URL, method, body string) (*http.Request, challenged, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(body))
	if err != nil {
		return nil, challenged{}, err
	}
	if header := c.serverHeader(u, u.String()); header != nil {
		req.Header = header.Clone()
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.guarded(u).Do(req)
	if err != nil {
		return nil, challenged{}, err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		return req, challenged{}, nil
	}
	return req, readChallenge(resp), nil
}

// acquireAgain gets a token without a user that replaces the current one.
func (c *Client) acquireAgain(ctx context.Context, t *target, ch challenged) error {
	b, err := c.bind(ctx, t, c.grant.client(), c.scopes(t, ch, nil))
	if err != nil {
		return err
	}
	if err := c.tokenSource.forget(ctx, c.key(b)); err != nil {
		return err
	}
	_, err = c.tokenSource.token(ctx, c.key(b))
	return err
}

// signIn is one run of the authorization code flow. Its secrets are used only
// once.
type signIn struct {
	target   *target
	client   *registeredClient
	redirect string
	scopes   []string
	verifier oauth.Secret
	state    oauth.Secret
	prover   *dpop.Prover // nil for tokens that are bound to no key

	answer chan answer // takes one
}

// answer is the checked response of the authorization server.
type answer struct {
	code oauth.Secret
	err  error
}

// signIn lets the user sign in, and stores the grant.
//
//	signIn
//	├─ completeMetadata            the first document that has all that a sign-in needs
//	├─ checkAuthorizationEndpoint  checks PKCE and the address for the browser before anything is sent
//	├─ receive                     listens on loopback, unless the application has a redirect URL
//	├─ register                    finds or makes the registration of the client
//	├─ address                     state, challenge, resource, scopes; pushed first if required
//	├─ Browser                     opens the address for the user
//	├─ await                       deliver: state, then issuer, then code or error
//	├─ redeem                      code, verifier and resource, to the token endpoint of the same issuer
//	└─ keep                        the grant, and that it is for this server
func (c *Client) signIn(ctx context.Context, t *target, scopes []string) error {
	if err := c.completeMetadata(ctx, t); err != nil {
		return err
	}
	if err := c.checkAuthorizationEndpoint(ctx, t); err != nil {
		return err
	}
	s, err := c.begin(t, scopes)
	if err != nil {
		return err
	}
	r, err := c.receive(ctx, s)
	if err != nil {
		return err
	}
	defer r.close()
	if s.client, err = c.register(ctx, t, s.redirect); err != nil {
		return err
	}
	g, err := c.ask(ctx, s)
	if err != nil {
		return c.doubt(ctx, s, err)
	}
	return c.keep(ctx, s, g)
}

// completeMetadata replaces metadata that lacks something that this sign-in needs by the first
// document that has it. The documents at the well-known URLs of an authorization server often
// differ in that.
func (c *Client) completeMetadata(ctx context.Context, t *target) error {
	need := func(m *oauth.ServerMetadata) error { return c.canSignIn(ctx, t, m) }
	err := need(t.metadata)
	if err == nil || t.old {
		return err
	}
	m, err := serverMetadata(ctx, t.http, t.metadata.Issuer, nil, need)
	if err == nil {
		t.metadata = m
	}
	return err
}

// canSignIn returns an error if metadata lacks something that a sign-in of this client needs.
//
// Spec: 2026-07-28 basic/authorization/security-considerations#authorization-code-protection
func (c *Client) canSignIn(ctx context.Context, t *target, m *oauth.ServerMetadata) error {
	switch {
	case len(m.ChallengeMethods) == 0 && !slices.Contains(c.opts.AssumePKCE, t.server):
		return &optionError{"AssumePKCE", errors.New("it does not say that it supports PKCE with S256 (code_challenge_methods_supported), without which a stolen code is a token")}
	case len(m.ChallengeMethods) > 0 && !m.SupportsPKCE():
		return errors.New("it does not say that it supports PKCE with S256 (code_challenge_methods_supported has other methods), without which a stolen code is a token")
	case m.AuthorizationEndpoint == "":
		return errors.New("found no authorization_endpoint: want one, or a grant without a user, such as client_credentials")
	}
	return c.canRegister(ctx, m)
}

// checkAuthorizationEndpoint returns an error if the browser must not be opened. A browser can reach
// addresses that only its user can reach, so it is not opened for addresses that the guarded client
// refuses, nor for names that have such an address.
func (c *Client) checkAuthorizationEndpoint(ctx context.Context, t *target) error {
	u, err := oauth.ParseEndpoint(t.metadata.AuthorizationEndpoint)
	if err == nil {
		err = c.opts.policy(t.http == c.localHTTP).CheckHost(ctx, u.Hostname())
	}
	if err != nil {
		return fmt.Errorf("authorization_endpoint: %w", err)
	}
	return nil
}

var errTooLate = fmt.Errorf("%w: the time for the sign-in has expired", ErrSignInRequired)

// begin returns a sign-in with new secrets.
func (c *Client) begin(t *target, scopes []string) (*signIn, error) {
	s := &signIn{
		target: t, scopes: scopes, verifier: oauth.Random(), state: oauth.Random(),
		answer: make(chan answer, 1),
	}
	if c.bindsTokens(t) {
		var err error
		if s.prover, err = dpop.NewProver(c.nonces); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// bindsTokens reports whether to request bound tokens for a target.
func (c *Client) bindsTokens(t *target) bool {
	return t.proof || c.opts.BindTokens && slices.Contains(t.metadata.DPoPAlgorithms, dpop.Algorithm)
}

// ask lets the user sign in, and redeems the authorization code.
func (c *Client) ask(ctx context.Context, s *signIn) (*grant, error) {
	e, err := c.tokenEndpoint(s.target, s.client, s.prover)
	if err != nil {
		return nil, err
	}
	address, err := s.address(ctx, e)
	if err != nil {
		return nil, err
	}
	a := c.await(ctx, s, address)
	if a.err != nil {
		return nil, a.err
	}
	return c.redeem(ctx, s, e, a.code)
}

// await opens the URL in the browser, and waits for the authorization response.
func (c *Client) await(ctx context.Context, s *signIn, address string) answer {
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.signInTime(), errTooLate)
	defer cancel()
	c.expect(s)
	defer c.removeState(s)
	if err := c.opts.browser()(ctx, address); err != nil {
		return answer{err: err}
	}
	select {
	case a := <-s.answer:
		return a
	case <-ctx.Done():
		return answer{err: &noRedirectError{context.Cause(ctx)}}
	}
}

// noRedirectError reports that the authorization server has not redirected the browser of the user.
// If it does not know the client, it must not.
//
// Spec: RFC 6749 4.1.2.1
type noRedirectError struct{ cause error }

func (e *noRedirectError) Error() string { return e.cause.Error() }
func (e *noRedirectError) Unwrap() error { return e.cause }

// address returns the URL at which the user signs in.
//
// Spec: RFC 6749 4.1.1; RFC 7636 4.3; RFC 8707 2.1; RFC 9126 4; RFC 9449 10
func (s *signIn) address(ctx context.Context, e *oauth.TokenEndpoint) (string, error) {
	u, err := oauth.ParseEndpoint(s.target.metadata.AuthorizationEndpoint)
	if err != nil {
		return "", err
	}
	request := s.request()
	if s.target.metadata.PARRequired {
		if request, err = s.push(ctx, e, request); err != nil {
			return "", err
		}
	}
	query := u.Query()
	for name, values := range request {
		query[name] = values
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}

func (s *signIn) request() url.Values {
	request := url.Values{
		"response_type":         {"code"},
		"client_id":             {s.client.ID},
		"redirect_uri":          {s.redirect},
		"state":                 {s.state.Reveal()},
		"code_challenge":        {oauth.CodeChallenge(s.verifier)},
		"code_challenge_method": {oauth.S256},
		"resource":              {s.target.resource},
	}
	if len(s.scopes) > 0 {
		request.Set("scope", strings.Join(s.scopes, " "))
	}
	if slices.Contains(s.scopes, scopeOfflineAccess) {
		request.Set("prompt", "consent") // OpenID Connect Core 1.0 11: else it may be ignored
	}
	if s.prover != nil {
		request.Set("dpop_jkt", s.prover.Thumbprint())
	}
	return request
}

// push sends the request to the pushed authorization endpoint, and returns the
// parameters that refer to it.
func (s *signIn) push(ctx context.Context, e *oauth.TokenEndpoint, request url.Values) (url.Values, error) {
	endpoint := s.target.metadata.PAREndpoint
	if endpoint == "" {
		return nil, errors.New("the authorization server requires pushed requests but has no pushed_authorization_request_endpoint")
	}
	uri, err := e.Push(ctx, endpoint, request)
	if err != nil {
		return nil, fmt.Errorf("push the authorization request: %w", err)
	}
	return url.Values{"client_id": {s.client.ID}, "request_uri": {uri}}, nil
}

// redeem exchanges the code for tokens.
//
// Spec: RFC 6749 4.1.3; RFC 7636 4.5; RFC 8707 2.2
func (c *Client) redeem(ctx context.Context, s *signIn, e *oauth.TokenEndpoint, code oauth.Secret) (*grant, error) {
	t, err := e.Request(ctx, url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {code.Reveal()},
		"redirect_uri":  {s.redirect},
		"code_verifier": {s.verifier.Reveal()},
		"resource":      {s.target.resource},
	})
	if err != nil {
		return nil, err
	}
	if s.prover != nil && t.Type != oauth.TypeDPoP {
		return nil, errors.New("token endpoint: the token is not bound to a key, want one of type DPoP as requested")
	}
	return newGrant(c.grantKey(s.target, s.client.ID), t, s.scopes, s.prover)
}

// keep stores the grant and the binding of a sign-in.
func (c *Client) keep(ctx context.Context, s *signIn, g *grant) error {
	if err := c.tokenSource.put(ctx, g.key(), g); err != nil {
		return err
	}
	c.recordRenewal(g.key(), &renewed{access: g.Access, last: true})
	if s.client.pending {
		if err := c.keepRegistration(ctx, &s.client.registration); err != nil {
			return err
		}
	}
	_, err := c.bind(ctx, s.target, s.client.ID, s.scopes)
	return err
}

// doubt marks the registration of a sign-in that has failed as it does where the authorization
// server does not know the client. SignOut finds the mark by the server. It returns the error.
func (c *Client) doubt(ctx context.Context, s *signIn, err error) error {
	refused, _ := errors.AsType[*oauth.Error](err)
	_, silent := errors.AsType[*noRedirectError](err)
	unknown := refused != nil && refused.UnknownClient()
	if !unknown && !silent {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if marking := c.doubtRegistration(ctx, &s.client.registration, unknown); marking != nil {
		return errors.Join(err, marking)
	}
	b, failed := c.loadBinding(ctx, s.target.server)
	if b == nil && failed == nil {
		_, failed = c.bind(ctx, s.target, s.client.ID, nil)
	}
	return errors.Join(err, failed)
}

// tokenEndpoint returns the token endpoint of a target's authorization server
// for a client.
func (c *Client) tokenEndpoint(t *target, k *registeredClient, p *dpop.Prover) (*oauth.TokenEndpoint, error) {
	auth, err := k.auth()
	if err != nil {
		return nil, err
	}
	e := &oauth.TokenEndpoint{HTTP: t.http, URL: t.metadata.TokenEndpoint, Issuer: t.metadata.Issuer, Auth: auth}
	if p != nil {
		e.Prover = p
	}
	return e, nil
}
