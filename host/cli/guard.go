package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/fondaco/fondaco/host/tokenfile"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// guard is who may use a host over HTTP: anybody, those to whom an authorization
// server has given tokens, or those whom a file of tokens names.
type guard struct {
	issuer   string
	resource string
	scopes   list
	tokens   string
	nobody   bool // is asked who they are, though other machines are served

	file *tokenfile.File
}

func (g *guard) declare(f *flag.FlagSet) {
	f.StringVar(&g.issuer, "auth", "", "want tokens of the authorization server at the URL `ISSUER`")
	f.StringVar(&g.tokens, "auth-tokens", "", "want tokens of `FILE`, lines of NAME:TOKEN")
	f.StringVar(&g.resource, "resource", "", "audience of tokens, the `URL` of the host; default by --addr")
	f.Var(&g.scopes, "scope", "`SCOPE` that a token needs; may be repeated")
	f.BoolVar(&g.nobody, "insecure-no-auth", false, "serve other machines, though nobody is asked who they are")
}

// asks reports whether callers are asked who they are.
func (g *guard) asks() bool { return g.issuer != "" || g.tokens != "" }

// check reports flags that do not go together, and reads the tokens.
func (g *guard) check(addr *net.TCPAddr) (err error) {
	switch {
	case g.nobody && g.asks():
		return usagef("found --insecure-no-auth and a way to ask callers who they are, want one of them")
	case !g.asks() && (g.resource != "" || len(g.scopes) > 0):
		return usagef("--resource and --scope are about tokens, want --auth ISSUER beside them")
	case g.issuer == "" && len(g.scopes) > 0:
		return usagef("--scope: tokens of a file have no scopes, want --auth ISSUER")
	case !addr.IP.IsLoopback() && !g.nobody && !g.asks():
		return usagef("--addr %s: other machines could reach it, and nobody is asked who they are; want a loopback address such as %s, --auth ISSUER or --auth-tokens FILE, or --insecure-no-auth where everybody may use these servers", addr, defaultAddr)
	case !addr.IP.IsLoopback() && g.issuer != "" && g.resource == "":
		return usagef("--auth beyond this machine: want --resource with the https URL by which clients know the host")
	}
	if g.tokens == "" {
		return nil
	}
	if g.file, err = tokenfile.Open(g.tokens); err != nil {
		return &codedError{exitUsage, err}
	}
	return nil
}

// options are what the handlers have to know: the name by which clients know the
// host.
func (g *guard) options() *mcpserver.HTTPOptions {
	u, err := url.Parse(g.resource)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	return &mcpserver.HTTPOptions{AllowedHosts: []string{u.Hostname()}}
}

// noAudience stands for the host in the tokens of a file, which name none.
const noAudience = "http://localhost"

// tokenIssuer vouches for those whom the file names.
const tokenIssuer = "fondaco-tokens"

// protect returns what protects the host at a URL.
func (g *guard) protect(base string, log *slog.Logger) (r *mcpauth.Resource, err error) {
	defer func() { // what mcpauth says of words that the user has typed
		if fault := recover(); fault != nil {
			err = usagef("--auth: %s", strings.TrimPrefix(fmt.Sprint(fault), "mcpauth: "))
		}
	}()
	identifier := cmp.Or(g.resource, base)
	if g.issuer == "" {
		identifier = noAudience
	}
	opts := []mcpauth.Option{mcpauth.Logger(log), mcpauth.RequireScopes(g.scopes...)}
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

// holder returns who has a token of the file, and may do what --scope asks of those
// who come from the issuer.
func (g *guard) holder(identifier, token string) (*mcpauth.Token, error) {
	name, err := g.file.Holder(token)
	switch {
	case errors.Is(err, tokenfile.ErrUnknown):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", mcpauth.ErrUnavailable, err)
	}
	return &mcpauth.Token{Issuer: tokenIssuer, Subject: name, Audience: []string{identifier}, Scopes: g.scopes}, nil
}

// serve puts the endpoints of MCP behind the guard, and beside them what tells
// clients where tokens are to be had.
func (g *guard) serve(mux *http.ServeMux, r *mcpauth.Resource, endpoints map[string]http.Handler) {
	for path, h := range endpoints {
		if r != nil {
			h = r.Protect(h)
		}
		mux.Handle(path, h)
	}
	if r != nil {
		mux.Handle("/.well-known/oauth-protected-resource", r.Metadata())
		mux.Handle("/.well-known/oauth-protected-resource/", r.Metadata())
	}
}
