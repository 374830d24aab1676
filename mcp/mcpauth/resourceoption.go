package mcpauth

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// Defaults of a Resource.
const (
	defaultSkew     = 30 * time.Second
	defaultMaxToken = 16 << 10
)

// Option sets a property of a Resource. An invalid option panics.
type Option func(*resourceSettings)

// resourceSettings is what options fill in.
type resourceSettings struct {
	issuers              map[string]string // the address of the keys by issuer; empty: in its metadata
	authorizationServers []string
	introspection        *Introspection
	verify               customVerifier

	audiences       []string
	required        []string
	supportedScopes []string
	includes        map[string][]string
	info            ResourceInfo

	algorithms []jose.SignatureAlgorithm
	types      []string
	skew       time.Duration
	maxToken   int

	proofRequired bool
	proofAge      time.Duration
	nonces        bool
	nonceKeys     []Key

	rootCAs         *x509.CertPool
	allowedNetworks []netip.Prefix
	allowedHosts    []string
	logger          *slog.Logger
}

func newResourceSettings() *resourceSettings {
	return &resourceSettings{
		issuers:    make(map[string]string),
		includes:   make(map[string][]string),
		algorithms: signatureAlgorithms,
		types:      []string{"at+jwt"},
		skew:       defaultSkew,
		maxToken:   defaultMaxToken,
		proofAge:   proofWindow,
		logger:     slog.Default(),
	}
}

// Issuer takes access tokens that are JWTs of the authorization server with the
// issuer identifier. Its keys are those of its metadata, where they are looked
// for when the first token comes. New keys are found when a token names one, and
// withdrawn ones are forgotten within 5 minutes. While the issuer cannot be
// reached its keys are used for up to an hour.
//
// The claims iss, sub, aud and exp are required; iss has to be the same
// characters. The typ has to be at+jwt (see [TokenTypes]).
//
// Spec: RFC 9068 4; RFC 8414 3; RFC 7517 5
func Issuer(issuer string) Option { return issuerKeys("Issuer", issuer, "") }

// IssuerKeys is [Issuer] with the address of the keys (a JWK set), for issuers
// without metadata.
func IssuerKeys(issuer, keys string) Option {
	if _, err := oauth.ParseEndpoint(keys); err != nil {
		panic(fmt.Sprintf("mcpauth: IssuerKeys: keys %q: %v", keys, err))
	}
	return issuerKeys("IssuerKeys", issuer, keys)
}

func issuerKeys(option, issuer, keys string) Option {
	if _, err := oauth.ParseIssuer(issuer); err != nil {
		panic(fmt.Sprintf("mcpauth: %s %q: %v", option, issuer, err))
	}
	return func(s *resourceSettings) {
		if _, ok := s.issuers[issuer]; ok {
			panic(fmt.Sprintf("mcpauth: %s: issuer %q is there twice", option, issuer))
		}
		s.issuers[issuer] = keys
		s.nameServer(issuer)
	}
}

// Introspect asks an authorization server about tokens that are no JWTs of an
// [Issuer]. The answer has to name our audience. A token that is good is not
// asked about again for a minute; without an answer the request is refused with
// status 503. At most 64 questions are asked at once, and 10,000 tokens are
// remembered, by their digests.
//
// Spec: RFC 7662
func Introspect(i Introspection) Option {
	if err := i.check(); err != nil {
		panic(fmt.Sprintf("mcpauth: Introspect: %v", err))
	}
	return func(s *resourceSettings) {
		s.onlyOpaque()
		s.introspection = &i
		s.nameServer(i.Issuer)
	}
}

// VerifyWith lets the author's own function tell about tokens that are no JWTs
// of an [Issuer]. It has to fill in Issuer, Subject and Audience of the Token,
// which are checked like those of any other. An error, nil, a panic, or more
// than 10 seconds refuse the request: with status 503 when the error is
// [ErrUnavailable], a panic or of time, and else with 401. What the error says is
// logged, without the token. A verifier that outlives its context holds up its
// own request only. It may be called from many goroutines.
func VerifyWith(verify func(ctx context.Context, token string) (*Token, error)) Option {
	if verify == nil {
		panic("mcpauth: VerifyWith: no function")
	}
	return func(s *resourceSettings) {
		s.onlyOpaque()
		s.verify = verify
	}
}

func (s *resourceSettings) onlyOpaque() {
	if s.introspection != nil || s.verify != nil {
		panic("mcpauth: two ways to tell about tokens that are no JWTs: want one of Introspect and VerifyWith")
	}
}

// AuthorizationServers are issuers that the metadata names besides those of the
// other options, such as those whose tokens [VerifyWith] takes.
func AuthorizationServers(issuers ...string) Option {
	for _, issuer := range issuers {
		if _, err := oauth.ParseIssuer(issuer); err != nil {
			panic(fmt.Sprintf("mcpauth: AuthorizationServers %q: %v", issuer, err))
		}
	}
	return func(s *resourceSettings) {
		for _, issuer := range issuers {
			s.nameServer(issuer)
		}
	}
}

func (s *resourceSettings) nameServer(issuer string) {
	if !slices.Contains(s.authorizationServers, issuer) {
		s.authorizationServers = append(s.authorizationServers, issuer)
	}
}

// Audiences are identifiers, besides the resource's, that mean this server in
// the aud of tokens: for authorization servers that know it under another name.
// https and http URLs compare in canonical form, all others by their characters.
func Audiences(audiences ...string) Option {
	if slices.Contains(audiences, "") {
		panic("mcpauth: Audiences: an empty one")
	}
	return func(s *resourceSettings) { s.audiences = append(s.audiences, audiences...) }
}

// RequireScopes sets scopes that every request needs. The challenge to a client
// without a token names them. mcpserver.Scopes sets those of one feature.
//
// Spec: 2026-07-28 basic/authorization#scope-selection-strategy
func RequireScopes(scopes ...string) Option {
	checkScopes("RequireScopes", scopes)
	return func(s *resourceSettings) { s.required = askedScopes(append(s.required, scopes...)) }
}

// SupportedScopes adds scopes to scopes_supported of the metadata, which has those
// of [RequireScopes] and [ScopeIncludes] in any case.
//
// Spec: RFC 9728 2
func SupportedScopes(scopes ...string) Option {
	checkScopes("SupportedScopes", scopes)
	return func(s *resourceSettings) { s.supportedScopes = append(s.supportedScopes, scopes...) }
}

// ScopeIncludes lets a scope grant other scopes too, and those that they include.
//
// Spec: 2026-07-28 basic/authorization#step-up-authorization-flow
func ScopeIncludes(scope string, others ...string) Option {
	checkScopes("ScopeIncludes", append([]string{scope}, others...))
	return func(s *resourceSettings) { s.includes[scope] = append(s.includes[scope], others...) }
}

func checkScopes(option string, scopes []string) {
	for _, scope := range scopes {
		switch {
		case !oauth.IsScope(scope):
			panic(fmt.Sprintf("mcpauth: %s: scope %q: want printable ASCII without spaces, quotes and backslashes", option, scope))
		case scope == scopeOffline:
			panic(fmt.Sprintf("mcpauth: %s: scope %q is between clients and authorization servers", option, scope))
		}
	}
}

// ResourceInfo is the part of the metadata that is for people. Empty fields are
// left out.
//
// Spec: RFC 9728 2
type ResourceInfo struct {
	// Name is the name of the server (resource_name).
	Name string
	// Documentation is the URL of a page for developers (resource_documentation),
	// Policy that of the rules for the use of data (resource_policy_uri), and Terms
	// that of the terms of service (resource_tos_uri).
	Documentation, Policy, Terms string
}

// Describe adds information for people to the metadata. It panics for a URL that
// is not https, nor http on a loopback address.
func Describe(info ResourceInfo) Option {
	for _, page := range []string{info.Documentation, info.Policy, info.Terms} {
		if _, err := oauth.ParseEndpoint(page); page != "" && err != nil {
			panic(fmt.Sprintf("mcpauth: Describe %q: %v", page, err))
		}
	}
	return func(s *resourceSettings) { s.info = info }
}

// Algorithms are the signature algorithms of tokens and proofs. They can only be
// asymmetric. Default: ES256, ES384, ES512, EdDSA, PS256, PS384, PS512, RS256,
// RS384, RS512.
//
// Spec: RFC 8725 3.1
func Algorithms(names ...string) Option {
	algorithms := parseAlgorithms(names)
	return func(s *resourceSettings) { s.algorithms = algorithms }
}

// TokenTypes are the values of typ, in any case and with or without application/,
// of JWTs that are access tokens. Authorization servers that do not follow RFC
// 9068 need "JWT", or "" for none: then it is the audience alone that tells an
// access token from an ID token. Default: at+jwt.
//
// Spec: RFC 9068 2.1, 4; RFC 8725 3.11
func TokenTypes(types ...string) Option {
	if len(types) == 0 {
		panic("mcpauth: TokenTypes: no type: want at least one")
	}
	return func(s *resourceSettings) {
		s.types = nil
		for _, typ := range types {
			s.types = append(s.types, mediaType(typ))
		}
	}
}

// Skew is how far the clocks of issuers may differ from ours, up to 5 minutes.
// Default: 30 seconds.
func Skew(d time.Duration) Option {
	if d < 0 || d > 5*time.Minute {
		panic(fmt.Sprintf("mcpauth: Skew: %v: want between 0 and 5 minutes", d))
	}
	return func(s *resourceSettings) { s.skew = d }
}

// MaxToken bounds the length of a token in bytes. Default: 16 KiB.
func MaxToken(bytes int) Option {
	if bytes <= 0 {
		panic(fmt.Sprintf("mcpauth: MaxToken: %d: want at least 1", bytes))
	}
	return func(s *resourceSettings) { s.maxToken = bytes }
}

// RequireProof refuses tokens that are not bound to a key. Tokens that are bound
// need a proof in any case.
//
// Spec: RFC 9449 7; RFC 9728 2
func RequireProof() Option {
	return func(s *resourceSettings) { s.proofRequired = true }
}

// ProofNonces asks for a nonce of ours in each proof, so that none can be made
// in advance. Replicas of a server need the same keys, of which the first seals
// and all open; without keys there is a random one. It panics for keys without
// an ID or with less than 32 bytes of secret.
//
// Spec: RFC 9449 9
func ProofNonces(keys ...Key) Option {
	return func(s *resourceSettings) { s.nonces, s.nonceKeys = true, keys }
}

// ProofAge is how far the time of a proof may be from ours, up to an hour, and
// how long a nonce is good for. For twice as long each proof is remembered, in
// this process, so that it is used once: 262,144 of them, and 32,768 of one key;
// beyond that requests are refused with status 503. Default: 5 minutes.
//
// Spec: RFC 9449 11.1
func ProofAge(d time.Duration) Option {
	if d <= 0 || d > time.Hour {
		panic(fmt.Sprintf("mcpauth: ProofAge: %v: want up to an hour", d))
	}
	return func(s *resourceSettings) { s.proofAge = d }
}

// RootCAs are the certificate authorities of authorization servers. Default:
// those of the system.
func RootCAs(pool *x509.CertPool) Option {
	return func(s *resourceSettings) { s.rootCAs = pool }
}

// AllowedNetworks adds networks to which requests to authorization servers, and
// for their keys, may be sent. Default: public addresses, and the loopback
// interface for an issuer whose own host is there.
func AllowedNetworks(networks ...netip.Prefix) Option {
	return func(s *resourceSettings) { s.allowedNetworks = append(s.allowedNetworks, networks...) }
}

// AllowedHosts adds host names that requests to a loopback address may have, such
// as those that a proxy on this machine uses. Allowed by default are the host of
// the resource and the names of the loopback interface; any other name is refused
// as a sign of DNS rebinding. In front of a handler of mcpserver its own list
// (HTTPOptions.AllowedHosts) is used instead.
func AllowedHosts(names ...string) Option {
	return func(s *resourceSettings) { s.allowedHosts = append(s.allowedHosts, names...) }
}

// Logger receives why requests are refused, and never a token. Default:
// slog.Default() at the time of [New].
func Logger(l *slog.Logger) Option {
	if l == nil {
		panic("mcpauth: Logger: none")
	}
	return func(s *resourceSettings) { s.logger = l }
}
