// Package signin stores the tokens of the host for upstreams that require authorization.
package signin

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// TokenStore stores the tokens of one user for upstreams, encrypted in a directory or in what
// several hosts share, or in memory. Several processes may use it at once. All methods are safe for concurrent use.
type TokenStore struct {
	dir    string // empty for what is shared, and for memory
	opts   *Options
	tokens mcpauth.Store
}

// Section is the text before the first "/" of the key by which hosts that share a state learn of
// sign-ins.
const Section = "signedin"

// SharedState is what several hosts share.
type SharedState interface {
	mcp.Store
	// Sealed is true if others can neither read nor change values, which is required.
	Sealed() bool
	// Version changes whenever an entry of a section was written.
	Version(section string) string
}

// markTimeout bounds MarkChanged.
const markTimeout = 6 * time.Second

// Options of a TokenStore.
type Options struct {
	// Key returns the key that encrypts the tokens, 32 bytes. It is called when there are
	// tokens to read or to write, and must be set for that.
	Key func(context.Context) ([]byte, error)
	// Shared has the tokens if it is not nil, see mcpauth.SharedStore. Default: the directory has them.
	Shared SharedState
	// Logger receives failures that do not fail a call. Default: slog.Default().
	Logger *slog.Logger
}

// Open returns the token store in a directory. The directory is created when there is
// something to store.
func Open(dir string, o *Options) *TokenStore {
	if o.Shared != nil {
		return &TokenStore{opts: o, tokens: mcpauth.SharedStore(o.Shared)}
	}
	return &TokenStore{dir: dir, opts: o, tokens: &lazyStore{dir: filepath.Join(dir, "tokens"), key: o.Key}}
}

// InMemory returns a token store that ends with the process. Its options need no key.
func InMemory(o *Options) *TokenStore { return &TokenStore{opts: o, tokens: mcpauth.MemoryStore()} }

// URL returns the URL of an upstream to which the user can sign in. It returns false for
// an upstream that is not reached over HTTP, has an Authorization header, or has sign-in
// disabled.
func URL(u *host.Upstream) (string, bool) {
	address := u.Target.String()
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return "", false
	}
	return address, !u.SignIn.Disabled && http.Header.Get(u.Header, "Authorization") == ""
}

// Authorizer returns the authorizer of the requests to an upstream, or nil if one cannot
// sign in there. It never opens a browser: if a sign-in is needed its error is
// mcpauth.ErrSignInRequired.
func (s *TokenStore) Authorizer(u *host.Upstream) mcpclient.Authorizer {
	if _, ok := URL(u); !ok {
		return nil
	}
	return explainingAuthorizer{s.Client(u, nil), u}
}

// Client returns the OAuth client for an upstream. It starts a sign-in only when its
// method SignIn is called. The browser is that of mcpauth.ClientOptions. Errors name fields of
// these options: ExplainError replaces them.
func (s *TokenStore) Client(u *host.Upstream, browser func(ctx context.Context, address string) error) *mcpauth.Client {
	o := &mcpauth.ClientOptions{
		Name: "Fondaco", Store: s.tokens, ManualSignIn: true, Browser: browser,
		RedirectURL: u.SignIn.RedirectURL, Prefixes: u.SignIn.AllowedNetworks, Logger: cmp.Or(s.opts.Logger, slog.Default()),
	}
	if len(u.Header) > 0 {
		o.ServerHeader = map[string]http.Header{u.Target.String(): u.Header}
	}
	if u.SignIn.AssumePKCE {
		o.AssumePKCE = []string{u.Target.String()}
	}
	switch signIn := u.SignIn; {
	case signIn.ClientCredentials:
		o.Grant = &mcpauth.ClientCredentials{Issuer: signIn.Issuer, ID: signIn.ClientID, Secret: signIn.ClientSecret, Scopes: signIn.Scopes}
	case signIn.ClientID != "":
		o.Registered = []mcpauth.Registration{{Issuer: signIn.Issuer, ID: signIn.ClientID, Secret: signIn.ClientSecret}}
	}
	return mcpauth.NewClient(o)
}

// MissingScopes returns the scopes that a refused request to an upstream has lacked since the user signed in last, in
// any process. It sends no requests.
func (s *TokenStore) MissingScopes(ctx context.Context, u *host.Upstream) ([]string, error) {
	address, ok := URL(u)
	if !ok {
		return nil, nil
	}
	held, err := s.Client(u, nil).Status(ctx, address)
	if held == nil || err != nil {
		return nil, err
	}
	return held.MissingScopes, nil
}

// MarkChanged changes Version after a sign-in or sign-out, so that running hosts retry. Memory has no other host.
func (s *TokenStore) MarkChanged() error {
	if s.opts.Shared != nil {
		ctx, cancel := context.WithTimeout(context.Background(), markTimeout)
		defer cancel()
		return s.opts.Shared.Put(ctx, Section+"/last", []byte(time.Now().UTC().Format(time.RFC3339Nano)), 0)
	}
	if s.dir == "" {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(s.changeFile(), []byte(time.Now().UTC().Format(time.RFC3339Nano)+"\n"), 0o600); err != nil {
		return fmt.Errorf("notify running hosts of the sign-in: %w", err)
	}
	return nil
}

// Version changes with each MarkChanged. It is empty if there was none.
func (s *TokenStore) Version() string {
	if s.opts.Shared != nil {
		return s.opts.Shared.Version(Section)
	}
	if s.dir == "" {
		return ""
	}
	info, err := os.Stat(s.changeFile())
	if err != nil {
		return ""
	}
	return info.ModTime().Format(time.RFC3339Nano)
}

func (s *TokenStore) changeFile() string { return filepath.Join(s.dir, "signed-in") }
