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
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// TokenStore stores the tokens of one user for upstreams, encrypted in a directory.
// Several processes may use it at once. All methods are safe for concurrent use.
type TokenStore struct {
	dir    string
	opts   *Options
	tokens *lazyStore
}

// Options of a TokenStore. The zero value, like a nil pointer, gives the defaults.
type Options struct {
	// Env looks up KeyVariable. Default: os.LookupEnv.
	Env func(name string) (string, bool)
	// Keyring stores the encryption key. Default: that of the operating system.
	Keyring Keyring
	// OnKeyFile is called when a new key was written to a file because there is no
	// keyring.
	OnKeyFile func(path string)
	// Logger receives failures that do not fail a call. Default: slog.Default().
	Logger *slog.Logger
}

func (o *Options) orZero() *Options {
	if o == nil {
		return new(Options)
	}
	return o
}

func (o *Options) env() func(string) (string, bool) {
	if o.Env == nil {
		return os.LookupEnv
	}
	return o.Env
}

func (o *Options) keyring(account string) Keyring {
	if o.Keyring == nil {
		return systemKeyring{account}
	}
	return o.Keyring
}

func (o *Options) onKeyFile(path string) {
	if o.OnKeyFile != nil {
		o.OnKeyFile(path)
	}
}

// Open returns the token store in a directory. Directory and key are created when there
// is something to store.
func Open(dir string, o *Options) *TokenStore {
	s := &TokenStore{dir: dir, opts: o.orZero()}
	s.tokens = &lazyStore{dir: filepath.Join(dir, "tokens"), keySource: keySource{
		env: s.opts.env(), keyring: s.opts.keyring(dir), file: filepath.Join(dir, "tokens.key"), onKeyFile: s.opts.onKeyFile,
	}}
	return s
}

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
	return explainingAuthorizer{s.Client(u, nil)}
}

// Client returns the OAuth client for an upstream. It starts a sign-in only when its
// method SignIn is called. The browser is that of mcpauth.ClientOptions. Errors name fields of
// these options: ExplainError replaces them.
func (s *TokenStore) Client(u *host.Upstream, browser func(ctx context.Context, address string) error) *mcpauth.Client {
	o := &mcpauth.ClientOptions{
		Name: "Fondaco", Store: s.tokens, ManualSignIn: true, Browser: browser,
		RedirectURL: u.SignIn.RedirectURL, Prefixes: u.SignIn.AllowedNetworks, Logger: cmp.Or(s.opts.Logger, slog.Default()),
	}
	switch signIn := u.SignIn; {
	case signIn.ClientCredentials:
		o.Grant = &mcpauth.ClientCredentials{Issuer: signIn.Issuer, ID: signIn.ClientID, Secret: signIn.ClientSecret, Scopes: signIn.Scopes}
	case signIn.ClientID != "":
		o.Registered = []mcpauth.Registration{{Issuer: signIn.Issuer, ID: signIn.ClientID, Secret: signIn.ClientSecret}}
	}
	return mcpauth.NewClient(o)
}

// MarkChanged changes ModTime after a sign-in or sign-out, which tells running hosts to
// retry.
func (s *TokenStore) MarkChanged() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(s.changeFile(), []byte(time.Now().UTC().Format(time.RFC3339Nano)+"\n"), 0o600); err != nil {
		return fmt.Errorf("notify running hosts of the sign-in: %w", err)
	}
	return nil
}

// ModTime is the time of the last MarkChanged, zero if there was none.
func (s *TokenStore) ModTime() time.Time {
	info, err := os.Stat(s.changeFile())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (s *TokenStore) changeFile() string { return filepath.Join(s.dir, "signed-in") }
