package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"

	"github.com/fondaco/fondaco/host/tokenfile"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// httpAuth configures who may use a host over HTTP: everyone, clients with tokens of an
// authorization server, or clients with tokens in a file.
type httpAuth struct {
	issuer   string
	resource string
	scopes   list
	tokens   string
	noAuth   bool // other machines are served without authentication
	guard    bool // clients on this machine have to authenticate, too

	file *tokenfile.File
}

func (g *httpAuth) declare(f *flag.FlagSet) {
	f.StringVar(&g.issuer, "auth", "", "require tokens of the authorization server `ISSUER`, a URL")
	f.StringVar(&g.tokens, "auth-tokens", "", "require tokens of `FILE`, lines of NAME:TOKEN")
	f.StringVar(&g.resource, "resource", "", "audience of tokens, the `URL` of the host; default by --addr")
	f.Var(&g.scopes, "scope", "`SCOPE` that a token needs; may be repeated")
	f.BoolVar(&g.guard, "protect", false, "require a token on this machine, too; one is created")
	f.BoolVar(&g.noAuth, "insecure-no-auth", false, "serve other machines without authentication")
}

// required reports whether clients must authenticate.
func (g *httpAuth) required() bool { return g.issuer != "" || g.tokens != "" }

// ensureTokens creates a token if --protect is given and nothing says who may use the host.
func (g *httpAuth) ensureTokens(m *Main) (err error) {
	if !g.guard || g.required() || g.noAuth {
		return nil
	}
	g.tokens, err = m.ownTokenFile()
	return err
}

// check reports flags that exclude each other, and reads the token file.
func (g *httpAuth) check(addr *net.TCPAddr) (err error) {
	switch {
	case g.noAuth && (g.required() || g.guard):
		return usagef("found --insecure-no-auth with --auth, --auth-tokens or --protect, want one of them")
	case !g.required() && (g.resource != "" || len(g.scopes) > 0):
		return usagef("--resource and --scope need --auth ISSUER")
	case g.issuer == "" && len(g.scopes) > 0:
		return usagef("--scope: tokens of a file have no scopes, want --auth ISSUER")
	case !addr.IP.IsLoopback() && !g.noAuth && !g.required():
		return usagef("--addr %s: other machines could use the host without authentication; want a loopback address such as %s, --auth ISSUER, --auth-tokens FILE, --protect, or --insecure-no-auth", addr, defaultAddr)
	case !addr.IP.IsLoopback() && g.issuer != "" && g.resource == "":
		return usagef("--auth on an address that other machines can reach: want --resource with the https URL of the host")
	}
	if g.tokens == "" {
		return nil
	}
	if g.file, err = tokenfile.Open(g.tokens); err != nil {
		return &codedError{exitUsage, err}
	}
	return nil
}

// hosts returns the name that clients use: that of --resource.
func (g *httpAuth) hosts() []string {
	u, err := url.Parse(g.resource)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	name := u.Hostname()
	if strings.Contains(name, ":") { // an IPv6 address
		name = "[" + name + "]"
	}
	return []string{name}
}

// fileAudience is the audience of tokens in a file, which name none.
const fileAudience = "http://localhost"

// tokenIssuer is the issuer of tokens in a file.
const tokenIssuer = "fondaco-tokens"

// protect returns the protection of the host at a URL. Hosts are the names under which it may be reached.
func (g *httpAuth) protect(base string, hosts []string, log *slog.Logger) (r *mcpauth.Resource, err error) {
	defer func() { // mcpauth panics if the value of a flag is invalid
		if fault := recover(); fault != nil {
			err = invalidFlag(strings.TrimPrefix(fmt.Sprint(fault), "mcpauth: "))
		}
	}()
	identifier := cmp.Or(g.resource, base)
	if g.issuer == "" {
		identifier = fileAudience
	}
	// tokens of a file are for another audience, so the hosts are named
	opts := []mcpauth.Option{mcpauth.Logger(log), mcpauth.RequireScopes(g.scopes...), mcpauth.AllowedHosts(hosts...)}
	if g.issuer != "" {
		opts = append(opts, mcpauth.Issuer(g.issuer))
	}
	if g.file != nil {
		opts = append(opts, mcpauth.VerifyWith(func(_ context.Context, token string) (*mcpauth.Token, error) {
			return g.holder(identifier, token)
		}))
	}
	return mcpauth.New(identifier, opts...), nil
}

// invalidFlag returns the usage error for an option that mcpauth refuses, with the flag in
// place of the option's name.
func invalidFlag(fault string) error {
	for option, flag := range map[string]string{"Issuer ": "--auth ", "RequireScopes: scope ": "--scope ", "resource ": "--resource "} {
		if rest, ok := strings.CutPrefix(fault, option); ok {
			return usagef("%s%s", flag, strings.Replace(rest, "issuer: ", "", 1))
		}
	}
	return usagef("--auth: %s", fault)
}

// holder verifies a token of the file. Its scopes are those that --scope requires of
// tokens of the issuer.
func (g *httpAuth) holder(identifier, token string) (*mcpauth.Token, error) {
	name, err := g.file.Holder(token)
	switch {
	case errors.Is(err, tokenfile.ErrUnknown):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", mcpauth.ErrUnavailable, err)
	}
	return &mcpauth.Token{Issuer: tokenIssuer, Subject: name, Audience: []string{identifier}, Scopes: g.scopes}, nil
}
