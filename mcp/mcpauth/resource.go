package mcpauth

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dpop"
	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/jwt"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
	"github.com/fondaco/fondaco/mcp/internal/seal"
	"github.com/fondaco/fondaco/mcp/internal/streamhttp"
)

// Resource is a protected resource of OAuth: an MCP server that requires access
// tokens. It verifies the tokens of requests ([Resource.Protect]) and publishes
// where clients get them ([Resource.Metadata]). Create one with [New]. It is
// immutable and safe for concurrent use.
//
// Spec: RFC 9728; 2026-07-28 basic/authorization
type Resource struct {
	identifier   string
	audiences    []string // canonical
	metadata     []byte   // nil: no authorization server to name
	metadataURL  string   // empty with it
	metadataPath string

	issuers map[string]*jwtIssuer // by oauth.BareIdentifier
	unknown unknownIssuers
	opaque  tokenVerifier // for tokens of no issuer above; nil: none

	required []string // scopes of every request
	includes map[string][]string
	skew     time.Duration
	maxToken int

	algorithms    jwt.Algorithms // of tokens and proofs
	proofs        *dpop.Checker
	proofRequired bool

	hostCheck *streamhttp.HostCheck
	logger    *slog.Logger
}

// New returns the protected resource with the identifier, which is the URL that
// clients use for the server: absolute, https (http on loopback only), and
// without a fragment. Tokens must name it as their audience.
//
// The options must include a verifier of tokens: [Issuer], [IssuerKeys],
// [Introspect] or [VerifyWith]. There may be several issuers; a JWT is verified
// by the issuer that it names. All other tokens are verified by Introspect or
// VerifyWith.
//
// New sends no requests. It panics if the identifier or an option is invalid.
//
// Spec: RFC 9728 1.2; RFC 8707 2; 2026-07-28 basic/authorization#canonical-server-uri
func New(resource string, opts ...Option) *Resource {
	u, err := oauth.ParseEndpoint(resource)
	if err != nil {
		panic(fmt.Sprintf("mcpauth: resource %q: %v", resource, err))
	}
	s := newResourceSettings()
	for _, option := range opts {
		option(s)
	}
	if len(s.issuers) == 0 && s.introspection == nil && s.verify == nil {
		panic("mcpauth: New: no verifier of tokens: want Issuer, IssuerKeys, Introspect or VerifyWith")
	}
	return s.resource(resource, u)
}

func (s *resourceSettings) resource(identifier string, u *url.URL) *Resource {
	r := &Resource{
		identifier:    identifier,
		metadataPath:  wellKnown + strings.TrimSuffix(u.EscapedPath(), "/"),
		issuers:       make(map[string]*jwtIssuer),
		opaque:        s.opaque(),
		required:      s.required,
		includes:      closure(s.includes),
		skew:          s.skew,
		maxToken:      s.maxToken,
		algorithms:    s.algorithms,
		proofs:        s.proofChecker(u),
		proofRequired: s.proofRequired,
		hostCheck:     streamhttp.NewHostCheck(append(s.allowedHosts, hostWithoutPort(u))...),
		logger:        s.logger,
	}
	for _, aud := range append([]string{identifier}, s.audiences...) {
		r.audiences = append(r.audiences, egress.CanonicalURL(aud))
	}
	for issuer, keys := range s.issuers {
		r.issuers[oauth.BareIdentifier(issuer)] = s.jwtIssuer(issuer, keys)
	}
	if d := s.document(r); len(d.AuthorizationServers) > 0 {
		r.metadata = d.encode()
		r.metadataURL = metadataURL(u, r.metadataPath)
	}
	return r
}

// metadataURL is the URL of the metadata of this resource. It includes the
// query of the identifier.
//
// Spec: RFC 9728 3.1
func metadataURL(resource *url.URL, path string) string {
	address := egress.Origin(resource) + path
	if resource.RawQuery != "" {
		address += "?" + resource.RawQuery
	}
	return address
}

// hostWithoutPort is the host of a URL in the form of a Host header.
func hostWithoutPort(u *url.URL) string {
	if host := u.Hostname(); !strings.Contains(host, ":") {
		return host
	}
	return "[" + u.Hostname() + "]"
}

func (s *resourceSettings) jwtIssuer(issuer, keys string) *jwtIssuer {
	server := s.server(issuer)
	return &jwtIssuer{
		issuer: issuer,
		rules:  jwtRules{algorithms: s.algorithms, types: s.types, skew: s.skew},
		keys: jwt.NewKeySet(func(ctx context.Context) ([]jwt.Key, error) {
			return server.fetchKeys(ctx, keys)
		}),
	}
}

// opaque returns the verifier of tokens that are not JWTs of a configured
// issuer.
func (s *resourceSettings) opaque() tokenVerifier {
	switch {
	case s.introspection != nil:
		return newIntrospector(*s.introspection, s.server(s.introspection.Issuer), s.skew)
	case s.verify != nil:
		return s.verify
	}
	return nil
}

// server returns an authorization server and its HTTP client. If its host is on
// loopback, its metadata may name other ports of loopback.
func (s *resourceSettings) server(issuer string) *issuerServer {
	return &issuerServer{issuer: issuer, http: egress.Guarded(s.policy(issuer))}
}

// policy returns the addresses that requests to an issuer may reach.
func (s *resourceSettings) policy(issuer string) *egress.Policy {
	return &egress.Policy{Loopback: onLoopback(issuer), Prefixes: s.allowedNetworks, RootCAs: s.rootCAs, Proxy: http.ProxyFromEnvironment}
}

func (s *resourceSettings) proofChecker(resource *url.URL) *dpop.Checker {
	o := dpop.CheckerOptions{Resource: resource, Algorithms: s.algorithms, Window: s.proofAge, Store: s.proofStore}
	if s.nonces {
		o.Nonces = s.nonceRing()
	}
	return dpop.NewChecker(o)
}

func (s *resourceSettings) nonceRing() *seal.Ring {
	if len(s.nonceKeys) == 0 {
		return seal.Random()
	}
	keys := make([]seal.Key, len(s.nonceKeys))
	for i, k := range s.nonceKeys {
		keys[i] = seal.Key(k)
	}
	ring, err := seal.NewRing(keys...)
	if err != nil {
		panic("mcpauth: ProofNonces: " + err.Error())
	}
	return ring
}

// onLoopback reports whether the host of a URL is this machine.
func onLoopback(text string) bool {
	u, err := url.Parse(text)
	return err == nil && oauth.IsLoopback(u.Hostname())
}

func (s *resourceSettings) document(r *Resource) *resourceDocument {
	scopes := slices.Concat(s.required, s.supportedScopes)
	for _, scope := range slices.Sorted(maps.Keys(r.includes)) {
		scopes = append(append(scopes, scope), r.includes[scope]...)
	}
	return &resourceDocument{
		Resource:             r.identifier,
		AuthorizationServers: s.authorizationServers,
		Scopes:               askedScopes(scopes),
		BearerMethods:        []string{"header"},
		ProofAlgorithms:      r.algorithms.Names(),
		ProofRequired:        s.proofRequired,
		Name:                 s.info.Name,
		Documentation:        s.info.Documentation,
		Policy:               s.info.Policy,
		Terms:                s.info.Terms,
	}
}

// expand returns the scopes and those that they include, in order.
//
// Spec: 2026-07-28 basic/authorization#step-up-authorization-flow
func (r *Resource) expand(scopes []string) []string {
	all := slices.Clone(scopes)
	for _, s := range scopes {
		all = append(all, r.includes[s]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// closure returns the scopes that each scope includes, directly or indirectly.
func closure(includes map[string][]string) map[string][]string {
	all := make(map[string][]string)
	for scope := range includes {
		for todo := []string{scope}; len(todo) > 0; todo = todo[1:] {
			for _, next := range includes[todo[0]] {
				if next != scope && !slices.Contains(all[scope], next) {
					all[scope] = append(all[scope], next)
					todo = append(todo, next)
				}
			}
		}
	}
	return all
}
