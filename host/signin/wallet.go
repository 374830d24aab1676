// Package signin keeps what the host is known by at the servers that want to know
// who asks: its wallet.
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

// Wallet holds the tokens of one user for upstreams, sealed in a directory. Several
// processes may use it at once. All methods are safe for concurrent use.
type Wallet struct {
	dir    string
	opts   *Options
	tokens *sealed
}

// Options of a Wallet. The zero value, like a nil pointer, gives the defaults.
type Options struct {
	// Env looks up KeyVariable. Default: os.LookupEnv.
	Env func(name string) (string, bool)
	// Keyring keeps the key of the tokens. Default: that of the system.
	Keyring Keyring
	// OnKeyFile hears that a new key lies in a file, because there is no keyring.
	OnKeyFile func(path string)
	// Logger receives what went wrong without failing a call. Default:
	// slog.Default().
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

// Open returns the wallet in a directory, which is made, like the key, when there is
// something to keep.
func Open(dir string, o *Options) *Wallet {
	w := &Wallet{dir: dir, opts: o.orZero()}
	w.tokens = &sealed{dir: filepath.Join(dir, "tokens"), keys: keys{
		env: w.opts.env(), ring: w.opts.keyring(dir), file: filepath.Join(dir, "tokens.key"), onFile: w.opts.onKeyFile,
	}}
	return w
}

// Address returns the URL of an upstream that can be signed in to, and false for one
// that is not reached over HTTP, gets its credentials by a header, or wants none.
func Address(u *host.Upstream) (string, bool) {
	address := u.Target.String()
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return "", false
	}
	return address, !u.SignIn.Off && http.Header.Get(u.Header, "Authorization") == ""
}

// Authorizer returns what gives the requests to an upstream their tokens, and nil for
// one that cannot be signed in to. It asks nobody: where a sign-in is needed its
// error is mcpauth.ErrSignInRequired.
func (w *Wallet) Authorizer(u *host.Upstream) mcpclient.Authorizer {
	if _, ok := Address(u); !ok {
		return nil
	}
	return w.Client(u, nil)
}

// Client returns the client for an upstream, which signs in by its SignIn alone. The
// browser is that of mcpauth.ClientOptions.
func (w *Wallet) Client(u *host.Upstream, browser func(ctx context.Context, address string) error) *mcpauth.Client {
	o := &mcpauth.ClientOptions{
		Name: "Fondaco", Store: w.tokens, ManualSignIn: true, Browser: browser,
		RedirectURL: u.SignIn.RedirectURL, Prefixes: u.SignIn.Networks, Logger: cmp.Or(w.opts.Logger, slog.Default()),
	}
	switch s := u.SignIn; {
	case s.Machine:
		o.Grant = &mcpauth.ClientCredentials{Issuer: s.Issuer, ID: s.ClientID, Secret: s.ClientSecret, Scopes: s.Scopes}
	case s.ClientID != "":
		o.Registered = []mcpauth.Registration{{Issuer: s.Issuer, ID: s.ClientID, Secret: s.ClientSecret}}
	}
	return mcpauth.NewClient(o)
}

// Announce tells hosts that run, by the Stamp, that somebody has signed in or out.
func (w *Wallet) Announce() error {
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(w.announcement(), []byte(time.Now().UTC().Format(time.RFC3339Nano)+"\n"), 0o600); err != nil {
		return fmt.Errorf("tell hosts that run of the sign-in: %w", err)
	}
	return nil
}

// Stamp differs from an earlier one when there was an Announce since.
func (w *Wallet) Stamp() time.Time {
	info, err := os.Stat(w.announcement())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (w *Wallet) announcement() string { return filepath.Join(w.dir, "signed-in") }
