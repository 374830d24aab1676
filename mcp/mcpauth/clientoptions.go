package mcpauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// ClientOptions of a Client. The zero value, like a nil pointer, gives the
// defaults: a native program that registers itself, opens the system's browser and
// keeps its tokens in memory. NewClient copies them, with their slices and maps.
type ClientOptions struct {
	// Name is the name that the authorization server shows to users. Default:
	// the name of the program.
	Name string
	// Registered are clients that were registered manually at authorization
	// servers. If there is any, signing in at every other authorization server
	// is an error: use another Client for it. Default: none.
	Registered []Registration
	// MetadataURL is the URL of the client ID metadata document (see
	// MetadataDocument), an https URL with a path. It is the identifier of the
	// client at every server that supports such documents. Default: none.
	MetadataURL string
	// Key authenticates the client of MetadataURL. Default: none, a public
	// client.
	Key *PrivateKey
	// Ask returns a registration if the client is not registered and the server supports no dynamic
	// registration. The result is stored. Default: an error that says what to do.
	Ask func(ctx context.Context, issuer string) (*Registration, error)

	// Grant gets tokens without a user. Default: users sign in.
	Grant Grant
	// Account identifies the user if one Store has tokens of several users. A
	// Client acts for one user. Default: empty, for a Store with one user.
	Account string
	// Browser opens a URL at which the user signs in: https, or http on this machine. It returns
	// without waiting for the user. It may print the URL; a user who opens it on another machine
	// copies the resulting URL for Finish. Default: opens the system's browser, without a shell.
	Browser func(ctx context.Context, address string) error
	// RedirectURL is the redirect URI. For a web application it is an https URL whose handler calls
	// Finish. For http://127.0.0.1 the Client listens there itself, at any port if none is given.
	// Default: http://127.0.0.1/callback; clients that register themselves add a path for each
	// authorization server, so that a server cannot obtain the authorization codes of another one
	// (mix-up attack).
	RedirectURL string
	// SignInTime is the time that the user may take. Default and maximum: 10
	// minutes.
	SignInTime time.Duration
	// ManualSignIn makes a request that needs a sign-in fail with ErrSignInRequired; only SignIn
	// asks the user. Default: the request waits until the user has signed in.
	ManualSignIn bool
	// BindTokens requests tokens that are bound to a key (DPoP) from every
	// authorization server that supports them, even if the MCP server does not
	// require it.
	BindTokens bool

	// Store keeps tokens and registrations. Default: memory, for the life of the
	// Client. See FileStore and SharedStore.
	Store Store
	// Prefixes are private address ranges that metadata, authorization servers and their endpoints
	// may have. Default: public addresses only; for an MCP server on loopback, also loopback.
	Prefixes []netip.Prefix
	// Proxy is used for every request to metadata and authorization servers. Default: that of the
	// environment (HTTPS_PROXY, NO_PROXY), as for calls. Addresses that are not allowed are not
	// requested of a proxy, nor names that have one here; it has to check the names that only it
	// knows.
	Proxy *url.URL
	// RootCAs are the certificate authorities for these servers. Default: those of the system.
	RootCAs *x509.CertPool
	// AllowOldEndpoints allows a server of 2025-03-26, which has no resource metadata, to be its
	// own authorization server, with endpoints at the default paths. It applies only to sessions of
	// that revision.
	AllowOldEndpoints bool
	// AssumePKCE holds the URLs of MCP servers whose authorization servers support PKCE with S256,
	// although no metadata of theirs says which methods they support. Only their documentation can
	// tell: an authorization server without PKCE ignores it, and a stolen code is then a token.
	// Default: none; a sign-in there is an error.
	AssumePKCE []string
	// ServerHeader holds headers by the URLs of MCP servers, such as the API key of a gateway in
	// front of one. They are sent with the requests that discover how to sign in to that server, to
	// its origin alone, and never to an authorization server. A header Authorization is left out.
	// Default: none.
	ServerHeader map[string]http.Header
	// Logger logs errors that fail no call. Default: slog.Default().
	Logger *slog.Logger

	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error) // set by tests; nil: of the system
}

// maxSignInTime is also how long a state is valid.
const maxSignInTime = 10 * time.Minute

func (o *ClientOptions) orZero() *ClientOptions {
	if o == nil {
		return new(ClientOptions)
	}
	return o
}

// copied returns a deep copy of the options with the defaults filled in.
func (o *ClientOptions) copied() *ClientOptions {
	c := *o.orZero()
	c.Logger = usercode.Logger(cmp.Or(c.Logger, slog.Default()))
	c.Registered, c.Prefixes = slices.Clone(c.Registered), slices.Clone(c.Prefixes)
	c.AssumePKCE, c.ServerHeader = nil, make(map[string]http.Header)
	for _, server := range o.orZero().AssumePKCE {
		c.AssumePKCE = append(c.AssumePKCE, keyOf(server))
	}
	for server, header := range o.orZero().ServerHeader {
		header = header.Clone()
		header.Del("Authorization")
		c.ServerHeader[keyOf(server)] = header
	}
	if c.Proxy != nil {
		c.Proxy = new(*c.Proxy)
	}
	if c.RootCAs != nil {
		c.RootCAs = c.RootCAs.Clone()
	}
	return &c
}

// keyOf returns the serverURL of a server that an option names.
func keyOf(server string) string {
	if u, err := url.Parse(server); err == nil {
		return serverURL(u)
	}
	return server
}

func (o *ClientOptions) name() string {
	if o.Name != "" {
		return o.Name
	}
	return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
}

func (o *ClientOptions) browser() func(context.Context, string) error {
	if o.Browser != nil {
		return o.Browser
	}
	return spawn.Open
}

func (o *ClientOptions) redirectURL() string {
	if o.RedirectURL != "" {
		return o.RedirectURL
	}
	return "http://127.0.0.1/callback"
}

// redirectFor returns the redirect URL of sign-ins at an issuer. If the client
// registers itself, each issuer gets another one.
//
// Spec: RFC 9700 4.4.2.2
func (o *ClientOptions) redirectFor(issuer string) string {
	if o.RedirectURL != "" || o.MetadataURL != "" || len(o.Registered) > 0 || o.Ask != nil {
		return o.redirectURL()
	}
	sum := sha256.Sum256([]byte(issuer))
	return o.redirectURL() + "/" + hex.EncodeToString(sum[:8])
}

func (o *ClientOptions) signInTime() time.Duration {
	if o.SignInTime <= 0 || o.SignInTime > maxSignInTime {
		return maxSignInTime
	}
	return o.SignInTime
}

func (o *ClientOptions) store() Store {
	if o.Store != nil {
		return o.Store
	}
	return MemoryStore()
}

// policy returns the addresses that the guarded client may reach. Loopback is
// allowed for MCP servers that the user configured there.
func (o *ClientOptions) policy(loopback bool) *egress.Policy {
	p := &egress.Policy{Loopback: loopback, Prefixes: o.Prefixes, Proxy: http.ProxyFromEnvironment, RootCAs: o.RootCAs, Lookup: o.lookup}
	if o.Proxy != nil {
		p.Proxy = http.ProxyURL(o.Proxy)
	}
	return p
}
