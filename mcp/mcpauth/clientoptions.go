package mcpauth

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
)

// ClientOptions of a Client. The zero value, like a nil pointer, gives the
// defaults: a native program that registers itself, opens the system's browser and
// keeps its tokens in memory. NewClient copies them, with their slices.
type ClientOptions struct {
	// Name is what users read at the authorization server. Default: the name of
	// the program.
	Name string
	// Registered are the clients that were made at authorization servers by hand.
	// With any of them, signing in at every other server is an error: use another
	// Client there. Default: none.
	Registered []Registration
	// MetadataURL is where the document of MetadataDocument lies, at an https URL
	// with a path. It is the identifier of the client at every server that takes
	// such documents. Default: none.
	MetadataURL string
	// Key authenticates the client of MetadataURL. Default: none, it is public.
	Key *PrivateKey
	// Ask is asked for a client where the server knows none and takes no
	// registrations. What it returns is kept. Default: an error says what is to be
	// done.
	Ask func(ctx context.Context, issuer string) (*Registration, error)

	// Grant gets tokens without a user. Default: users sign in.
	Grant Grant
	// Account tells apart users whose tokens are in one Store. A Client acts for
	// one. Default: the only one.
	Account string
	// Browser sends the user to an https URL, or to http on this machine, at which
	// to sign in. It returns when that is begun. It may print the URL: who opens it
	// elsewhere comes back with an address that Finish takes. Default: the
	// system's browser, opened without a shell.
	Browser func(ctx context.Context, address string) error
	// RedirectURL is to where the browser comes back. Of a web application it is an
	// https URL, whose handler calls Finish. On http://127.0.0.1 the Client waits
	// there itself, at any port if none is given. Default: http://127.0.0.1/callback;
	// for clients that register themselves with a path besides for each authorization
	// server, so that no server can send its users to another one for the codes of
	// that.
	RedirectURL string
	// SignInTime is how long the user may take. Default: 10 minutes, which is the
	// most.
	SignInTime time.Duration
	// ManualSignIn leaves it to SignIn to ask the user: a request that needs a
	// sign-in fails with ErrSignInRequired. Default: the request waits for the user.
	ManualSignIn bool
	// BindTokens asks for tokens that are bound to a key (DPoP) wherever the
	// authorization server can, also if the MCP server does not ask for it.
	BindTokens bool

	// Store keeps tokens and registrations. Default: memory, for the life of the
	// Client. See FileStore.
	Store Store
	// Prefixes are private addresses at which metadata, authorization servers and
	// their endpoints may be. Default: public addresses only; for an MCP server on
	// loopback, loopback as well.
	Prefixes []netip.Prefix
	// Proxy is used for the requests that Prefixes speaks of. Proxies of the
	// environment are not. Default: none.
	Proxy *url.URL
	// RootCAs are whom these servers have to be certified by. Default: those of the
	// system.
	RootCAs *x509.CertPool
	// AllowOldEndpoints allows servers of 2025-03-26, which tell nothing of
	// authorization, to be their own authorization servers, with endpoints at fixed
	// places. It is used only in a session of that revision.
	AllowOldEndpoints bool
	// Logger receives what went wrong without failing a call. Default:
	// slog.Default().
	Logger *slog.Logger
}

// maxSignInTime is also how long a state is good for.
const maxSignInTime = 10 * time.Minute

func (o *ClientOptions) orZero() *ClientOptions {
	if o == nil {
		return new(ClientOptions)
	}
	return o
}

// copied returns options of the client's own.
func (o *ClientOptions) copied() *ClientOptions {
	c := *o.orZero()
	c.Registered, c.Prefixes = slices.Clone(c.Registered), slices.Clone(c.Prefixes)
	if c.Proxy != nil {
		c.Proxy = new(*c.Proxy)
	}
	if c.RootCAs != nil {
		c.RootCAs = c.RootCAs.Clone()
	}
	return &c
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

// redirectFor returns the redirect URL of sign-ins at an issuer. Where we alone
// decide what is registered it is another one for each.
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

func (o *ClientOptions) logger() *slog.Logger {
	if o.Logger != nil {
		return o.Logger
	}
	return slog.Default()
}

// policy is where the guarded client may go. Loopback is for MCP servers that the
// user has configured there.
func (o *ClientOptions) policy(loopback bool) *egress.Policy {
	return &egress.Policy{Loopback: loopback, Prefixes: o.Prefixes, Proxy: o.Proxy, RootCAs: o.RootCAs}
}
