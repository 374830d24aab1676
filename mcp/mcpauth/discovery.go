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
// request with a challenge.
//
//	discover
//	├─ resourceMetadata        at the URL of the challenge, else at the path, else at the root
//	│  └─ checkParent          metadata of a path above the server, if its challenge names it
//	├─ pick                    one of its authorization servers
//	└─ serverMetadata          RFC 8414 and OpenID, until one is that of the issuer
func (c *Client) discover(ctx context.Context, req *http.Request, ch challenged) (*target, error) {
	t := &target{server: serverURL(req.URL), http: c.guarded(req.URL)}
	m, err := c.resourceMetadata(ctx, t.http, req.URL, ch.metadata)
	switch noMetadata := errors.Is(err, errNoMetadata); {
	case noMetadata && c.allowsOld(req):
		return c.discoverOld(ctx, t, req.URL)
	case noMetadata && !c.opts.AllowOldEndpoints:
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
	t.metadata, err = serverMetadata(ctx, t.http, issuer, nil)
	return t, err
}

// guarded returns the client for URLs that a server sends.
func (c *Client) guarded(server *url.URL) *http.Client {
	if oauth.IsLoopback(server.Hostname()) {
		return c.localHTTP
	}
	return c.publicHTTP
}

// errNoMetadata means that a server has no resource metadata.
var errNoMetadata = errors.New("the server has no protected resource metadata")

// resourceMetadata returns the metadata of a resource. Metadata of another server is an error; the
// remaining URLs are then not tried. A document at the path of the server has to be that of the
// server, and one at the root has to be that of the origin.
//
// Spec: RFC 9728 3.3
func (c *Client) resourceMetadata(ctx context.Context, hc *http.Client, server *url.URL, named string) (*oauth.ResourceMetadata, error) {
	if named != "" {
		return c.namedMetadata(ctx, hc, server, named)
	}
	places := oauth.ResourceMetadataURLs(server)
	var m oauth.ResourceMetadata
	place, err := firstDocument(ctx, hc, places, nil, &m, nil)
	switch {
	case isAbsent(err):
		return nil, fmt.Errorf("%w: %w", errNoMetadata, err)
	case err != nil:
		return nil, fmt.Errorf("metadata of the server: %w", err)
	}
	want := server
	if place != places[0] {
		want = &url.URL{Scheme: server.Scheme, Host: server.Host}
	}
	if !identifies(m.Resource, want) {
		return nil, wrongResource(place, &m, want)
	}
	return checkIssuers(place, &m)
}

// namedMetadata returns the metadata that a challenge names. It may be that of a path above the
// server if the document at the path of the server is absent, or says the same: otherwise one
// server could obtain tokens for all servers at its origin.
func (c *Client) namedMetadata(ctx context.Context, hc *http.Client, server *url.URL, named string) (*oauth.ResourceMetadata, error) {
	if _, err := oauth.ParseEndpoint(named); err != nil {
		return nil, fmt.Errorf("resource_metadata of the challenge: %w", err)
	}
	var m oauth.ResourceMetadata
	if _, err := firstDocument(ctx, hc, []string{named}, nil, &m, nil); err != nil {
		return nil, fmt.Errorf("metadata of the server: %w", err)
	}
	switch {
	case !covers(m.Resource, server):
		return nil, wrongResource(named, &m, server)
	case !identifies(m.Resource, server):
		if err := checkParent(ctx, hc, server, named, &m); err != nil {
			return nil, err
		}
		c.opts.Logger.Warn("authorization: the metadata that the server names is that of a path above it, and a token for it is a token for everything below that path",
			"server", serverURL(server), "resource", m.Resource)
	}
	return checkIssuers(named, &m)
}

// checkParent returns an error if the document at the path of a server contradicts metadata of a
// path above it, which the server has named, or cannot be read. Only 404 and 410 say that there is
// none: another status may hide one that says otherwise.
func checkParent(ctx context.Context, hc *http.Client, server *url.URL, named string, m *oauth.ResourceMetadata) error {
	place := oauth.ResourceMetadataURLs(server)[0]
	if place == named {
		return nil
	}
	var own oauth.ResourceMetadata
	err := oauth.FetchDocument(ctx, hc, place, nil, &own)
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
	return fmt.Errorf("metadata of the server at %s: resource %.200q: want %s; nothing was sent to its authorization servers", place, m.Resource, serverURL(want))
}

// checkIssuers returns metadata that has an authorization server.
func checkIssuers(place string, m *oauth.ResourceMetadata) (*oauth.ResourceMetadata, error) {
	if len(m.AuthorizationServers) == 0 {
		return nil, fmt.Errorf("metadata of the server at %s: want authorization_servers", place)
	}
	return m, nil
}

// serverMetadata returns the metadata of an authorization server.
func serverMetadata(ctx context.Context, hc *http.Client, issuer string, header http.Header) (*oauth.ServerMetadata, error) {
	u, err := oauth.ParseIssuer(issuer)
	if err != nil {
		return nil, fmt.Errorf("authorization server: %w", err)
	}
	var m oauth.ServerMetadata
	_, err = firstDocument(ctx, hc, oauth.ServerMetadataURLs(u), header, &m, func() error { return m.CheckFor(issuer) })
	if err != nil {
		return nil, fmt.Errorf("metadata of authorization server %s: %w", issuer, err)
	}
	return &m, nil
}

// firstDocument returns the first document at one of the URLs that passes a check, and its URL. A
// blocked address or the end of the context ends the search.
func firstDocument[T any](ctx context.Context, hc *http.Client, places []string, header http.Header, out *T, check func() error) (string, error) {
	var faults []error
	for _, place := range places {
		var m T
		err := oauth.FetchDocument(ctx, hc, place, header, &m)
		if *out = m; err == nil && check != nil {
			err = check()
		}
		if err == nil {
			return place, nil
		}
		faults = append(faults, fmt.Errorf("%s: %w", place, err))
		if _, blocked := errors.AsType[*egress.BlockedError](err); blocked || ctx.Err() != nil {
			break
		}
	}
	return "", &searchError{faults}
}

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
	search, ok := errors.AsType[*searchError](err)
	return ok && !slices.ContainsFunc(search.faults, func(err error) bool {
		status, ok := errors.AsType[*oauth.StatusError](err)
		return !ok || status.Status/100 != 4
	})
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
	revision := req.Header.Get(httpheader.ProtocolVersion)
	return c.opts.AllowOldEndpoints && (revision == "" || revision == mcp.V20250326.String())
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
	m, err := serverMetadata(ctx, hc, origin, header)
	if !isAbsent(err) {
		return m, err
	}
	return &oauth.ServerMetadata{
		Issuer: origin, AuthorizationEndpoint: origin + "/authorize", TokenEndpoint: origin + "/token",
		RegistrationEndpoint: origin + "/register", ChallengeMethods: []string{oauth.S256},
	}, nil
}
