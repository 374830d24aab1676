package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// target holds the discovered facts about a server that a sign-in needs.
type target struct {
	server   string // its URL, see serverURL
	resource string // its identifier, from its metadata
	metadata *oauth.ServerMetadata
	http     *http.Client // guarded, for URLs that the server sends

	scopes []string // scopes that the server supports
	proof  bool     // the server requires tokens that are bound to a key
	old    bool     // the server is its own authorization server, without resource metadata
}

// serverURL returns the URL of a server without query and fragment, with scheme and host in lower
// case. It is the key of bindings.
//
// Spec: 2026-07-28 basic/authorization#canonical-server-uri
func serverURL(u *url.URL) string { return egress.Origin(u) + strings.TrimSuffix(u.EscapedPath(), "/") }

// covers reports whether a resource is the server at u or contains it: a URL of the
// same origin, whose path is the one of u or above it. Its query, if any, is the
// same.
func covers(resource string, u *url.URL) bool {
	above, ok := pathAt(resource, u)
	return ok && strings.HasPrefix(strings.TrimSuffix(u.EscapedPath(), "/")+"/", above+"/")
}

// identifies reports whether a resource is the server at u.
func identifies(resource string, u *url.URL) bool {
	path, ok := pathAt(resource, u)
	return ok && path == strings.TrimSuffix(u.EscapedPath(), "/")
}

// pathAt returns the path of a resource without a trailing slash. It returns false if the resource
// is of another origin than u, or has another query.
func pathAt(resource string, u *url.URL) (string, bool) {
	r, err := oauth.ParseEndpoint(resource)
	if err != nil || egress.Origin(r) != egress.Origin(u) || r.RawQuery != "" && r.RawQuery != u.RawQuery {
		return "", false
	}
	return strings.TrimSuffix(r.EscapedPath(), "/"), true
}

// discover finds the authorization server of a server that has answered a
// request with a challenge. Documents are never merged: the first one that can be used is.
//
//	discover
//	├─ resourceMetadata        at the URL of the challenge, else at the path, else at the root
//	│  └─ checkParent          metadata of a path above the server, if its challenge names it
//	├─ chooseServer            one of its authorization servers
//	└─ serverMetadata          RFC 8414 and OpenID, until one is that of the issuer
func (c *Client) discover(ctx context.Context, req *http.Request, ch challenged) (*target, error) {
	t := &target{server: serverURL(req.URL), http: c.guarded(req.URL)}
	m, err := c.resourceMetadata(ctx, t.http, req.URL, ch.metadata)
	switch absent := ch.metadata == "" && isAbsent(err); {
	case absent && c.allowsOld(req):
		return c.discoverOld(ctx, t, req.URL)
	case absent && !c.opts.AllowOldEndpoints:
		err = &optionError{"AllowOldEndpoints", err}
	}
	if err != nil {
		return nil, err
	}
	issuer, err := c.chooseServer(ctx, m.AuthorizationServers)
	if err != nil {
		return nil, err
	}
	t.resource, t.scopes = m.Resource, oauth.Scopes(m.ScopesSupported)
	t.proof = m.DPoPRequired || ch.proof
	t.metadata, err = serverMetadata(ctx, t.http, issuer, nil, nil)
	return t, err
}

// guarded returns the client for URLs that a server sends.
func (c *Client) guarded(server *url.URL) *http.Client {
	if oauth.IsLoopback(server.Hostname()) {
		return c.localHTTP
	}
	return c.publicHTTP
}

// serverHeader returns the headers of the options for a request to a URL that discovers how to sign
// in to a server: nil at other origins than that of the server.
func (c *Client) serverHeader(server *url.URL, address string) http.Header {
	u, err := url.Parse(address)
	if err != nil || egress.Origin(u) != egress.Origin(server) {
		return nil
	}
	return c.opts.ServerHeader[serverURL(server)]
}

// ErrNoMetadata means that a server does not say where to sign in, or its authorization server not
// how: at none of the well-known URLs is a document that can be used. The server may accept a token
// or an API key that it issues itself.
var ErrNoMetadata = errors.New("no metadata for a sign-in")

// noMetadataError is an ErrNoMetadata that says what was found where.
type noMetadataError struct{ err error }

func (e *noMetadataError) Error() string        { return e.err.Error() }
func (e *noMetadataError) Unwrap() error        { return e.err }
func (e *noMetadataError) Is(target error) bool { return target == ErrNoMetadata }

// resourceMetadata returns the metadata of a resource: the first of the documents at the URL that
// its challenge names and at the well-known URLs that names authorization servers. Metadata of
// another resource is an error, and the remaining URLs are then not tried; so is a failure at the
// URL of the challenge that may pass. A document at the path of the server has to be that of the
// server, and one at the root has to be that of the origin.
//
// Spec: RFC 9728 3.3
func (c *Client) resourceMetadata(ctx context.Context, hc *http.Client, server *url.URL, named string) (*oauth.ResourceMetadata, error) {
	search := new(searchError)
	if named != "" {
		named = oauth.ResolveEndpoint(server, named)
		if _, err := oauth.ParseEndpoint(named); err != nil {
			return nil, fmt.Errorf("resource_metadata of the challenge: %w", err)
		}
		m, err := firstDocument(ctx, hc, []string{named}, c.serverHeader(server, named), search, func(_ string, m *oauth.ResourceMetadata) error {
			return c.checkNamed(ctx, hc, server, named, m)
		})
		if err == nil || !isUnusable(err) {
			return m, prefixed("metadata of the server", err)
		}
	}
	places := slices.DeleteFunc(oauth.ResourceMetadataURLs(server), func(place string) bool { return place == named })
	m, err := firstDocument(ctx, hc, places, c.serverHeader(server, server.String()), search, func(place string, m *oauth.ResourceMetadata) error {
		want := server
		if place != oauth.ResourceMetadataURLs(server)[0] {
			want = &url.URL{Scheme: server.Scheme, Host: server.Host}
		}
		if !identifies(m.Resource, want) {
			return wrongResource(place, m, want)
		}
		return checkIssuers(m)
	})
	if isUnusable(err) {
		return nil, &noMetadataError{fmt.Errorf("the server has no protected resource metadata: %w", err)}
	}
	return m, prefixed("metadata of the server", err)
}

// prefixed returns an error that begins with its subject, nil for nil. The errors about another
// resource have theirs.
func prefixed(subject string, err error) error {
	if _, ok := errors.AsType[*searchError](err); ok {
		return fmt.Errorf("%s: %w", subject, err)
	}
	return err
}

// checkNamed returns an error if metadata that a challenge names cannot be used. It may be that of
// a path above the server if the document at the path of the server is absent, or says the same:
// otherwise one server could obtain tokens for all servers at its origin.
func (c *Client) checkNamed(ctx context.Context, hc *http.Client, server *url.URL, named string, m *oauth.ResourceMetadata) error {
	switch {
	case !covers(m.Resource, server):
		return wrongResource(named, m, server)
	case !identifies(m.Resource, server):
		if err := c.checkParent(ctx, hc, server, named, m); err != nil {
			return &finalError{err}
		}
		c.opts.Logger.Warn("authorization: the metadata that the server names is that of a path above it, and a token for it is a token for everything below that path",
			"server", serverURL(server), "resource", m.Resource)
	}
	return checkIssuers(m)
}

// checkParent returns an error if the document at the path of a server contradicts metadata of a
// path above it, which the server has named, or cannot be read. Only 404 and 410 say that there is
// none: another status may hide one that says otherwise.
func (c *Client) checkParent(ctx context.Context, hc *http.Client, server *url.URL, named string, m *oauth.ResourceMetadata) error {
	place := oauth.ResourceMetadataURLs(server)[0]
	if place == named {
		return nil
	}
	var own oauth.ResourceMetadata
	err := oauth.FetchDocument(ctx, hc, place, c.serverHeader(server, place), &own)
	status, _ := errors.AsType[*oauth.StatusError](err)
	switch {
	case status != nil && (status.Status == http.StatusNotFound || status.Status == http.StatusGone):
		return nil
	case err != nil:
		return fmt.Errorf("metadata of the server at %s: resource %.200q is above the server, and its own document at %s cannot be read: %w; want it, or 404; nothing was sent to its authorization servers", named, m.Resource, place, err)
	case !oauth.SameIdentifier(own.Resource, m.Resource) || !slices.EqualFunc(own.AuthorizationServers, m.AuthorizationServers, oauth.SameIdentifier):
		return fmt.Errorf("metadata of the server at %s: resource %.200q is above the server, and the document at %s says otherwise: want %s; nothing was sent to its authorization servers", named, m.Resource, place, serverURL(server))
	}
	return nil
}

func wrongResource(place string, m *oauth.ResourceMetadata, want *url.URL) error {
	return &finalError{fmt.Errorf("metadata of the server at %s: resource %.200q: want %s; nothing was sent to its authorization servers", place, m.Resource, serverURL(want))}
}

// checkIssuers returns an error for metadata that names no authorization server.
func checkIssuers(m *oauth.ResourceMetadata) error {
	if len(m.AuthorizationServers) == 0 {
		return &memberError{errors.New("found no authorization_servers, want one")}
	}
	return nil
}

// serverMetadata returns the metadata of an authorization server: the first of the documents at the
// well-known URLs that is that of the issuer, and for which need returns nil. Need may be nil.
func serverMetadata(ctx context.Context, hc *http.Client, issuer string, header http.Header, need func(*oauth.ServerMetadata) error) (*oauth.ServerMetadata, error) {
	u, err := oauth.ParseIssuer(issuer)
	if err != nil {
		return nil, fmt.Errorf("authorization server: %w", err)
	}
	m, err := firstDocument(ctx, hc, oauth.ServerMetadataURLs(u), header, new(searchError), func(_ string, m *oauth.ServerMetadata) error {
		m.Resolve(u)
		err := m.CheckFor(issuer)
		if err == nil && need != nil {
			err = need(m)
		}
		if err != nil {
			return &memberError{err}
		}
		return nil
	})
	err = prefixed("metadata of authorization server "+issuer, err)
	if isUnusable(err) {
		err = &noMetadataError{err}
	}
	return m, err
}

// firstDocument returns the first document at one of the URLs that passes a check. If there is
// none, the error is the given one, to which it adds why. A finalError of the check, a blocked
// address or the end of the context ends the search.
func firstDocument[T any](ctx context.Context, hc *http.Client, places []string, header http.Header, search *searchError, check func(place string, m *T) error) (*T, error) {
	for _, place := range places {
		m := new(T)
		err := oauth.FetchDocument(ctx, hc, place, header, m)
		if err == nil {
			err = check(place, m)
		}
		if err == nil {
			return m, nil
		}
		if final, ok := errors.AsType[*finalError](err); ok {
			return nil, final.err
		}
		search.faults = append(search.faults, fmt.Errorf("%s: %w", place, err))
		if _, blocked := errors.AsType[*egress.BlockedError](err); blocked || ctx.Err() != nil {
			break
		}
	}
	return nil, search
}

// finalError is an error of a document that ends the search for another one.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }

// memberError reports a document that lacks what is needed of it.
type memberError struct{ err error }

func (e *memberError) Error() string { return e.err.Error() }
func (e *memberError) Unwrap() error { return e.err }

// searchError holds why no URL had a document.
type searchError struct{ faults []error }

func (e *searchError) Error() string {
	texts := make([]string, len(e.faults))
	for i, err := range e.faults {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (e *searchError) Unwrap() []error { return e.faults }

// isAbsent reports whether every URL answered that it has no document.
func isAbsent(err error) bool {
	return allFaults(err, func(err error) bool {
		status, ok := errors.AsType[*oauth.StatusError](err)
		return ok && status.Status/100 == 4
	})
}

// isUnusable reports whether every URL answered with no document, another one, or one that lacks
// what is needed. Other errors, such as a broken connection, may pass.
func isUnusable(err error) bool {
	return allFaults(err, func(err error) bool {
		status, _ := errors.AsType[*oauth.StatusError](err)
		_, document := errors.AsType[*oauth.DocumentError](err)
		_, member := errors.AsType[*memberError](err)
		return document || member || status != nil && status.Status/100 != 5
	})
}

func allFaults(err error, is func(error) bool) bool {
	search, ok := errors.AsType[*searchError](err)
	return ok && !slices.ContainsFunc(search.faults, func(err error) bool { return !is(err) })
}

// chooseServer chooses one of the authorization servers of a resource: that of the grant or of a manually
// registered client, or else one at which the client is registered, or else the first.
//
// Spec: RFC 9728 7.6
func (c *Client) chooseServer(ctx context.Context, issuers []string) (string, error) {
	if c.grant != nil && c.grant.issuer() != "" {
		if containsIssuer(issuers, c.grant.issuer()) {
			return c.grant.issuer(), nil
		}
		return "", fmt.Errorf("the server accepts tokens of other authorization servers than %s, to which the Grant belongs (found %s): nothing was sent to them", c.grant.issuer(), shownIssuers(issuers))
	}
	for _, r := range c.opts.Registered {
		if containsIssuer(issuers, r.Issuer) {
			return r.Issuer, nil
		}
	}
	for _, issuer := range issuers {
		if r, err := c.storedRegistration(ctx, issuer); r != nil || err != nil {
			return issuer, err
		}
	}
	return issuers[0], nil
}

// shownIssuers returns the first of the issuers that a peer has sent, for an error.
func shownIssuers(issuers []string) string {
	var shown []string
	for _, issuer := range issuers[:min(len(issuers), 3)] {
		shown = append(shown, oauth.ShownIssuer(issuer))
	}
	return strings.Join(shown, ", ")
}

func containsIssuer(issuers []string, issuer string) bool {
	return slices.ContainsFunc(issuers, func(one string) bool { return oauth.SameIdentifier(one, issuer) })
}

// allowsOld reports whether a server can be its own authorization server: the request belongs to a
// session of 2025-03-26, and the option allows it.
//
// Spec: 2025-03-26 basic/authorization
func (c *Client) allowsOld(req *http.Request) bool {
	name := req.Header.Get(httpheader.ProtocolVersion)
	revision, _ := mcp.ParseRevision(name)
	return c.opts.AllowOldEndpoints && (name == "" || revision.HasServerAuthorization())
}

// discoverOld finds the endpoints of a server that is its own authorization server: in the metadata
// at its origin, or else at the default paths.
//
// Spec: 2025-03-26 basic/authorization#server-metadata-discovery
func (c *Client) discoverOld(ctx context.Context, t *target, server *url.URL) (*target, error) {
	var err error
	t.resource, t.old = serverURL(server), true
	t.metadata, err = oldMetadata(ctx, t.http, egress.Origin(server))
	return t, err
}

func oldMetadata(ctx context.Context, hc *http.Client, origin string) (*oauth.ServerMetadata, error) {
	header := http.Header{httpheader.ProtocolVersion: {mcp.V20250326.String()}}
	m, err := serverMetadata(ctx, hc, origin, header, nil)
	if !isAbsent(err) {
		return m, err
	}
	return &oauth.ServerMetadata{
		Issuer: origin, AuthorizationEndpoint: origin + "/authorize", TokenEndpoint: origin + "/token",
		RegistrationEndpoint: origin + "/register", ChallengeMethods: []string{oauth.S256},
	}, nil
}
