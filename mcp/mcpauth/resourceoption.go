package mcpauth

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dpop"
	"github.com/fondaco/fondaco/mcp/internal/jwt"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// Defaults of a Resource.
const (
	defaultSkew     = 30 * time.Second
	defaultMaxToken = 16 << 10
)

// Option sets a property of a Resource. An invalid option panics.
type Option func(*resourceSettings)

// resourceSettings collects the values of options.
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

	algorithms jwt.Algorithms
	types      []string
	skew       time.Duration
	maxToken   int

	proofRequired bool
	proofAge      time.Duration
	proofStore    mcp.Store
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
		algorithms: jwt.AllAlgorithms(),
		types:      []string{"at+jwt"},
		skew:       defaultSkew,
		maxToken:   defaultMaxToken,
		proofAge:   dpop.DefaultWindow,
		logger:     slog.Default(),
	}
}

// Issuer accepts access tokens that are JWTs of the authorization server with the given
// issuer identifier. The keys come from its metadata, which is requested when the first
// token arrives. A new key is requested when a token names it; a withdrawn key is used
// for up to 5 minutes. While the issuer is unavailable, its keys are used for up to an
// hour.
//
// The claims iss, sub, aud and exp are required, and iss has to be identical to the
// issuer identifier, except that https://id.example.com and https://id.example.com/ are
// the same. Identities have the given spelling. A token of another issuer is refused; its
// issuer is logged once. The typ has to be at+jwt (see [TokenTypes]).
//
// Spec: RFC 9068 4; RFC 8414 3; RFC 7517 5
func Issuer(issuer string) Option { return issuerKeys("Issuer", issuer, "") }

// IssuerKeys is like [Issuer] with the URL of the keys (a JWK set), for issuers without
// metadata.
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
		for _, spelling := range oauth.Spellings(issuer) {
			if _, ok := s.issuers[spelling]; ok {
				panic(fmt.Sprintf("mcpauth: %s: issuer %q: found twice, want it once", option, issuer))
			}
		}
		s.issuers[issuer] = keys
		s.nameServer(issuer)
	}
}

// Introspect verifies tokens that are not JWTs of an [Issuer] by introspection at an
// authorization server. The response has to name an audience of this server. Responses
// about valid tokens are cached for a minute, at most 10,000 of them, under digests of
// the tokens. At most 64 requests run at once. If the authorization server does not
// respond within 10 seconds, the request is refused with status 503.
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

// VerifyWith verifies tokens that are not JWTs of an [Issuer] with the given function. It
// has to set Issuer, Subject and Audience of the Token, which are checked like those of
// other tokens.
//
// The request is refused if the function returns an error or nil, panics, or takes more
// than 10 seconds: with status 401, or with 503 for [ErrUnavailable], a panic and a
// timeout. The text of the error is logged without the token. The function must be safe
// for concurrent use. If it continues after its context has ended, only its own request
// is delayed.
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
		panic("mcpauth: found two verifiers of tokens that are not JWTs, want one of Introspect and VerifyWith")
	}
}

// AuthorizationServers adds issuers to those that the metadata lists, such as those whose
// tokens [VerifyWith] accepts. Issuers of the other options are listed anyway.
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
	if !containsIssuer(s.authorizationServers, issuer) {
		s.authorizationServers = append(s.authorizationServers, issuer)
	}
}

// Audiences adds values of aud that identify this server, for authorization servers that
// know it under another name than the resource identifier. URLs with https or http are
// compared in canonical form; all others have to be identical.
func Audiences(audiences ...string) Option {
	if slices.Contains(audiences, "") {
		panic("mcpauth: Audiences: found an empty string, want an identifier")
	}
	return func(s *resourceSettings) { s.audiences = append(s.audiences, audiences...) }
}

// RequireScopes sets the scopes that every request needs. The challenge to a client
// without a token lists them. mcpserver.Scopes sets the scopes of one feature.
//
// Spec: 2026-07-28 basic/authorization#scope-selection-strategy
func RequireScopes(scopes ...string) Option {
	checkScopes("RequireScopes", scopes)
	return func(s *resourceSettings) { s.required = askedScopes(append(s.required, scopes...)) }
}

// SupportedScopes adds scopes to scopes_supported of the metadata. Those of
// [RequireScopes] and [ScopeIncludes] are there anyway.
//
// Spec: RFC 9728 2
func SupportedScopes(scopes ...string) Option {
	checkScopes("SupportedScopes", scopes)
	return func(s *resourceSettings) { s.supportedScopes = append(s.supportedScopes, scopes...) }
}

// ScopeIncludes declares that a scope also grants the other scopes, and those that they
// include.
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
			panic(fmt.Sprintf("mcpauth: %s: scope %q: want a scope of the resource; this one is for authorization servers", option, scope))
		}
	}
}

// ResourceInfo is the part of the metadata that clients show to people. Empty fields are
// left out.
//
// Spec: RFC 9728 2
type ResourceInfo struct {
	// Name is the name of the server (resource_name).
	Name string
	// Documentation is the URL of a page for developers (resource_documentation),
	// Policy the URL of the requirements on how clients use the data
	// (resource_policy_uri), and Terms the URL of the terms of service
	// (resource_tos_uri).
	Documentation, Policy, Terms string
}

// Describe adds information for people to the metadata. It panics for a URL that is
// neither https nor http on a loopback address.
func Describe(info ResourceInfo) Option {
	for _, page := range []string{info.Documentation, info.Policy, info.Terms} {
		if _, err := oauth.ParseEndpoint(page); page != "" && err != nil {
			panic(fmt.Sprintf("mcpauth: Describe %q: %v", page, err))
		}
	}
	return func(s *resourceSettings) { s.info = info }
}

// Algorithms sets the allowed signature algorithms of tokens and proofs. It panics for
// algorithms that are not asymmetric. Default: ES256, ES384, ES512, EdDSA, PS256, PS384,
// PS512, RS256, RS384, RS512.
//
// Spec: RFC 8725 3.1
func Algorithms(names ...string) Option {
	algorithms, err := jwt.ParseAlgorithms(names)
	if err != nil {
		panic("mcpauth: " + err.Error())
	}
	return func(s *resourceSettings) { s.algorithms = algorithms }
}

// TokenTypes sets the values of typ of JWTs that are access tokens. Case and the prefix
// application/ are ignored. For authorization servers that do not follow RFC 9068, use
// "JWT", or "" for tokens without typ; then only the audience distinguishes an access
// token from an ID token. Default: at+jwt.
//
// Spec: RFC 9068 2.1, 4; RFC 8725 3.11
func TokenTypes(types ...string) Option {
	if len(types) == 0 {
		panic("mcpauth: TokenTypes: no type: want at least one")
	}
	return func(s *resourceSettings) {
		s.types = nil
		for _, typ := range types {
			s.types = append(s.types, jwt.MediaType(typ))
		}
	}
}

// Skew sets the maximum difference between the clocks of issuers and this server, up to 5
// minutes. Default: 30 seconds.
func Skew(d time.Duration) Option {
	if d < 0 || d > 5*time.Minute {
		panic(fmt.Sprintf("mcpauth: Skew: %v: want between 0 and 5 minutes", d))
	}
	return func(s *resourceSettings) { s.skew = d }
}

// MaxToken sets the maximum length of a token, in bytes. Default: 16 KiB.
func MaxToken(bytes int) Option {
	if bytes <= 0 {
		panic(fmt.Sprintf("mcpauth: MaxToken: %d: want at least 1", bytes))
	}
	return func(s *resourceSettings) { s.maxToken = bytes }
}

// RequireProof refuses tokens that are not bound to a key. Bound tokens always need a
// proof, with this option or without it.
//
// Spec: RFC 9449 7; RFC 9728 2
func RequireProof() Option {
	return func(s *resourceSettings) { s.proofRequired = true }
}

// ProofNonces requires a nonce of this server in each proof, so that proofs cannot be
// made in advance. The first key encrypts nonces and all keys decrypt them; replicas of a
// server need the same keys. Without keys a random one is used. ProofNonces panics for a
// key without an ID or with a secret of less than 32 bytes.
//
// Spec: RFC 9449 9
func ProofNonces(keys ...Key) Option {
	return func(s *resourceSettings) { s.nonces, s.nonceKeys = true, keys }
}

// ProofAge sets the maximum difference between the time of a proof and this server's, and
// how long a nonce is valid, up to an hour. Default: 5 minutes.
//
// Each proof is accepted once by this process, and with [ProofStore] once by all replicas.
// For that, this process stores proofs for at least twice that time: at most 262,144, and
// 32,768 for one key. Beyond that, requests are refused with status 503.
//
// Spec: RFC 9449 11.1
func ProofAge(d time.Duration) Option {
	if d <= 0 || d > time.Hour {
		panic(fmt.Sprintf("mcpauth: ProofAge: %v: want up to an hour", d))
	}
	return func(s *resourceSettings) { s.proofAge = d }
}

// ProofStore stores the proofs that were accepted in a Store that the replicas of a server
// share, such as mcpserver.Options.Store, so that a proof which one of them has accepted is
// refused by all others. Without it a stolen proof can be used once at each replica.
//
// Each proof costs one operation of the Store, Create, which may take 2 seconds. If that fails,
// the request is refused with status 503, because it is not known whether the proof was used:
// the client makes another proof to try again. An entry is a digest without a value. It lives
// for twice the time of [ProofAge] and a minute, by which the clocks of replicas may differ.
// ProofStore panics if the Store is nil.
//
// Spec: RFC 9449 11.1
func ProofStore(s mcp.Store) Option {
	if s == nil {
		panic("mcpauth: ProofStore: found nil, want a Store")
	}
	return func(r *resourceSettings) { r.proofStore = s }
}

// RootCAs sets the root certificates for connections to authorization servers. Default:
// those of the system.
func RootCAs(pool *x509.CertPool) Option {
	return func(s *resourceSettings) { s.rootCAs = pool }
}

// AllowedNetworks adds networks to which requests for metadata, keys and introspection
// may be sent. Public addresses are always allowed, and the loopback interface for an
// issuer whose own host is there.
func AllowedNetworks(networks ...netip.Prefix) Option {
	return func(s *resourceSettings) { s.allowedNetworks = append(s.allowedNetworks, networks...) }
}

// AllowedHosts adds values of the Host header that requests to a loopback address may
// have, such as the one that a proxy on this machine sends. The host of the resource and
// the names of the loopback interface are always allowed. Others are refused, because
// they may come from DNS rebinding. In front of a handler of mcpserver, its list
// (HTTPOptions.AllowedHosts) is used instead.
func AllowedHosts(names ...string) Option {
	return func(s *resourceSettings) { s.allowedHosts = append(s.allowedHosts, names...) }
}

// Logger sets the logger for reasons of refusals. Tokens are never logged. Default:
// slog.Default() at the time of [New].
func Logger(l *slog.Logger) Option {
	if l == nil {
		panic("mcpauth: Logger: found nil, want a logger")
	}
	return func(s *resourceSettings) { s.logger = l }
}
