package mcpauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/jwt"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// Registration is a client that was registered manually at an authorization
// server.
type Registration struct {
	// Issuer is the authorization server. The registration is not sent to any other
	// server.
	Issuer string
	// ID is the client_id.
	ID string
	// Secret is the client_secret, empty for a public client.
	Secret Secret
	// Method is the client authentication method: client_secret_basic,
	// client_secret_post, private_key_jwt or none. Empty means one that the server
	// supports and the other fields allow.
	Method string
	// Key is the key for private_key_jwt.
	Key *PrivateKey
}

// ErrNotRegistered means that the client is not registered at the authorization
// server and must be registered manually.
var ErrNotRegistered = errors.New("the client is not registered")

// registeredClient is a client with its credentials at one authorization server.
type registeredClient struct {
	registration
	key *PrivateKey
	// pending is whether the registration replaces a stored one as soon as it has a token.
	pending bool
}

// auth returns the client authentication.
func (k *registeredClient) auth() (oauth.ClientAuth, error) {
	auth := oauth.ClientAuth{Method: k.Method, ID: k.ID, Secret: k.Secret}
	if k.Method != oauth.AuthPrivateKeyJWT {
		return auth, nil
	}
	if k.key == nil {
		return auth, fmt.Errorf("client %q: want a Key for %s", k.ID, k.Method)
	}
	a, err := newAssertions(k.ID, k.key)
	if err != nil {
		return auth, err
	}
	auth.Assert = a.assert
	return auth, nil
}

// register returns the client for a sign-in with the redirect URI.
//
//	register
//	├─ Registered              manual registrations; if all are of other issuers: an error
//	├─ MetadataURL             if the server supports client ID metadata documents
//	├─ stored                  an earlier result of the next two, unless its secret has expired or it is doubtful
//	├─ registerNew             dynamic registration, repeated with another type if refused
//	└─ ask                     ClientOptions.Ask
//
// Spec: 2026-07-28 basic/authorization/client-registration
func (c *Client) register(ctx context.Context, t *target, redirect string) (*registeredClient, error) {
	if k := c.manualClient(t.metadata); k != nil {
		return k, nil
	}
	if len(c.opts.Registered) > 0 {
		return nil, &optionError{"Registered", fmt.Errorf("%w at %s, and the program has only clients of other servers: register one there manually", ErrNotRegistered, t.metadata.Issuer)}
	}
	if c.opts.MetadataURL != "" && t.metadata.ClientIDDocuments {
		return c.documentClient(t.metadata.Issuer), nil
	}
	old, err := c.storedRegistration(ctx, t.metadata.Issuer)
	if err != nil {
		return nil, err
	}
	if old != nil && !old.Doubtful && (!old.isDynamic() || old.Redirect == redirect) {
		return &registeredClient{registration: *old}, nil
	}
	r, err := c.newRegistration(ctx, t, redirect)
	if err != nil {
		return nil, err
	}
	k := &registeredClient{registration: *r, pending: old != nil}
	if k.pending {
		return k, nil
	}
	return k, c.keepRegistration(ctx, r)
}

// canRegister returns an error if there is no way to a client at the issuer of the metadata.
func (c *Client) canRegister(ctx context.Context, m *oauth.ServerMetadata) error {
	if len(c.opts.Registered) > 0 || c.opts.MetadataURL != "" && m.ClientIDDocuments || m.RegistrationEndpoint != "" || c.opts.Ask != nil {
		return nil
	}
	r, err := c.storedRegistration(ctx, m.Issuer)
	if r != nil || err != nil {
		return err
	}
	return notRegistrableError(m.Issuer)
}

func notRegistrableError(issuer string) error {
	return &optionError{"Registered", fmt.Errorf("%w at %s, which does not support dynamic registration: register one there manually", ErrNotRegistered, issuer)}
}

// clientOfGrant returns the client that a grant was issued to, or nil if it no longer
// exists.
func (c *Client) clientOfGrant(ctx context.Context, m *oauth.ServerMetadata, id string) (*registeredClient, error) {
	if k := c.manualClient(m); k != nil {
		return k.as(id), nil
	}
	if id == c.opts.MetadataURL {
		return c.documentClient(m.Issuer).as(id), nil
	}
	r, err := c.storedRegistration(ctx, m.Issuer)
	if r == nil || err != nil {
		return nil, err
	}
	return (&registeredClient{registration: *r}).as(id), nil
}

// as returns the client if it has the identifier.
func (k *registeredClient) as(id string) *registeredClient {
	if k.ID != id || id == "" {
		return nil
	}
	return k
}

// manualClient returns the client that was registered manually at the issuer of the
// metadata.
func (c *Client) manualClient(m *oauth.ServerMetadata) *registeredClient {
	i := slices.IndexFunc(c.opts.Registered, func(r Registration) bool { return oauth.SameIdentifier(r.Issuer, m.Issuer) })
	if i < 0 {
		return nil
	}
	return c.opts.Registered[i].client(m)
}

func (r *Registration) client(m *oauth.ServerMetadata) *registeredClient {
	k := &registeredClient{registration: registration{Issuer: r.Issuer, ID: r.ID, Secret: oauth.Secret(r.Secret), Method: r.Method}, key: r.Key}
	switch {
	case k.Method != "":
	case r.Key != nil:
		k.Method = oauth.AuthPrivateKeyJWT
	case r.Secret == "":
		k.Method = oauth.AuthNone
	default:
		k.Method = secretMethod(m.TokenAuthMethods)
	}
	return k
}

// documentClient returns the client of MetadataURL.
func (c *Client) documentClient(issuer string) *registeredClient {
	return &registeredClient{registration: registration{Issuer: issuer, ID: c.opts.MetadataURL, Method: c.documentMethod()}, key: c.opts.Key}
}

func (c *Client) documentMethod() string {
	if c.opts.Key != nil {
		return oauth.AuthPrivateKeyJWT
	}
	return oauth.AuthNone
}

// MetadataDocument returns the client ID metadata document. Serve it at ClientOptions.MetadataURL
// as application/json. It has the public part of the Key, if there is one.
//
// Spec: 2026-07-28 basic/authorization/client-registration#client-id-metadata-documents
func (c *Client) MetadataDocument() ([]byte, error) {
	if err := checkMetadataURL(c.opts.MetadataURL); err != nil {
		return nil, fmt.Errorf("client metadata document: %w", err)
	}
	m := c.describe(c.opts.redirectURL(), c.documentMethod())
	m.ClientID = c.opts.MetadataURL
	if k := c.opts.Key; k != nil {
		algorithm, err := k.algorithm()
		if err != nil {
			return nil, fmt.Errorf("client metadata document: %w", err)
		}
		m.Keys = map[string]any{"keys": []jwt.Key{jwt.NewKey(k.Signer.Public(), k.ID, algorithm)}}
	}
	return encodeRecord(m)
}

// checkMetadataURL returns an error if a URL cannot be the identifier of a
// client.
//
// Spec: draft-ietf-oauth-client-id-metadata-document 3
func checkMetadataURL(text string) error {
	u, err := oauth.ParseEndpoint(text)
	if err != nil || u.Scheme != "https" || len(u.Path) < 2 {
		return fmt.Errorf("MetadataURL %.200q: want an https URL with a path, such as https://app.example.com/oauth/client.json", text)
	}
	return nil
}

// describe returns the metadata of the client.
func (c *Client) describe(redirect, method string) *oauth.ClientMetadata {
	m := &oauth.ClientMetadata{
		Name: c.opts.name(), RedirectURIs: []string{redirect}, AuthMethod: method,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		ApplicationType: typeWeb,
	}
	if u, err := url.Parse(redirect); err == nil && oauth.IsLoopback(u.Hostname()) {
		m.ApplicationType = typeNative
	}
	return m
}

// Types of applications.
//
// Spec: OpenID Connect Dynamic Client Registration 1.0 2
const (
	typeNative = "native"
	typeWeb    = "web"
)

func (c *Client) newRegistration(ctx context.Context, t *target, redirect string) (*registration, error) {
	if t.metadata.RegistrationEndpoint != "" {
		return c.registerNew(ctx, t, redirect)
	}
	issuer := t.metadata.Issuer
	if c.opts.Ask == nil {
		return nil, notRegistrableError(issuer)
	}
	r, err := c.opts.Ask(ctx, issuer)
	switch {
	case err != nil:
		return nil, err
	case r == nil || r.ID == "" || r.Issuer != "" && !oauth.SameIdentifier(r.Issuer, issuer) || r.Key != nil:
		return nil, fmt.Errorf("%w at %s: found no ID in the result of Ask, want that of a client registered there", ErrNotRegistered, issuer)
	}
	k := r.client(t.metadata)
	k.Issuer = issuer
	return &k.registration, nil
}

// registerNew registers the client. If that is refused, it tries once more with
// the other application type.
//
// Spec: RFC 7591 3; 2026-07-28 basic/authorization/client-registration#application-type-and-redirect-uri-constraints
func (c *Client) registerNew(ctx context.Context, t *target, redirect string) (*registration, error) {
	m := c.describe(redirect, registrationMethod(t.metadata.TokenAuthMethods))
	first := m.ApplicationType
	answer, err := oauth.Register(ctx, t.http, t.metadata.RegistrationEndpoint, m)
	if refused, ok := errors.AsType[*oauth.Error](err); ok && refused.Status/100 != 5 {
		m.ApplicationType = map[string]string{typeNative: typeWeb, typeWeb: typeNative}[first]
		answer, err = oauth.Register(ctx, t.http, t.metadata.RegistrationEndpoint, m)
	}
	if err != nil {
		return nil, &optionError{"Registered", fmt.Errorf("%w: %s refused to register a %s application with the redirect URI %s: %w: register one manually", ErrNotRegistered, t.metadata.Issuer, first, redirect, err)}
	}
	r := &registration{
		Issuer: t.metadata.Issuer, ID: answer.ClientID, Secret: answer.Secret,
		Method: cmp.Or(answer.AuthMethod, m.AuthMethod), Redirect: redirect,
	}
	if answer.Expires > 0 && answer.Secret != "" {
		r.Expires = time.Unix(min(answer.Expires, lastSecond), 0).UTC()
	}
	return r, nil
}

// lastSecond is the last second that can be stored: the end of the year 9999.
const lastSecond = 253402300799

// registrationMethod returns the client authentication method to request: none, if the server
// allows it.
//
// Spec: RFC 8414 2, where silence is client_secret_basic
func registrationMethod(supported []string) string {
	for _, method := range []string{oauth.AuthNone, oauth.AuthBasic, oauth.AuthPost} {
		if slices.Contains(supported, method) {
			return method
		}
	}
	return oauth.AuthBasic
}

func registrationKey(issuer string) string { return fmt.Sprintf("client %q", issuer) }

// storedRegistration returns the stored registration at an issuer, or nil if there is none or its
// secret has expired. It was stored under the spelling that the metadata of the issuer had then.
func (c *Client) storedRegistration(ctx context.Context, issuer string) (*registration, error) {
	for _, spelling := range oauth.Spellings(issuer) {
		text, err := c.store.Load(ctx, registrationKey(spelling))
		if err != nil {
			return nil, err
		}
		r, err := decodeRecord[registration](text)
		switch {
		case err != nil:
			return nil, err
		case r != nil && r.Issuer == spelling && (r.Expires.IsZero() || time.Now().Before(r.Expires)):
			return r, nil
		}
	}
	return nil, nil
}

func (c *Client) keepRegistration(ctx context.Context, r *registration) error {
	return c.store.Update(ctx, registrationKey(r.Issuer), func([]byte) ([]byte, error) { return encodeRecord(r) })
}

// doubtRegistration marks a dynamic registration that the issuer seems to have forgotten, so that
// the next sign-in registers again. One that the user has entered is removed if it was refused.
func (c *Client) doubtRegistration(ctx context.Context, r *registration, refused bool) error {
	return c.changeRegistration(ctx, r, func(stored *registration) *registration {
		switch {
		case stored.isDynamic():
			stored.Doubtful = true
		case refused:
			return nil
		}
		return stored
	})
}

// changeRegistration replaces a stored registration by the result of change; nil removes it. It
// does nothing if another one is stored.
func (c *Client) changeRegistration(ctx context.Context, r *registration, change func(*registration) *registration) error {
	return c.store.Update(ctx, registrationKey(r.Issuer), func(old []byte) ([]byte, error) {
		stored, err := decodeRecord[registration](old)
		if err != nil || stored == nil || stored.ID != r.ID {
			return old, err
		}
		if stored = change(stored); stored == nil {
			return nil, nil
		}
		return encodeRecord(stored)
	})
}
