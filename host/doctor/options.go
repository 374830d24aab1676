package doctor

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json/jsontext"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Options say what Examine knows about a server, and what it may do. The zero value, like a nil
// pointer, gives the defaults.
type Options struct {
	// Problems are what is wrong in the configuration file with the server. Default: none.
	Problems []Problem
	// Admit decides whether the server may be started or connected to. Nil means that the user has named
	// it on the command line, which is the consent.
	Admit func(context.Context) (*Admission, error)
	// Authorizer returns what adds tokens to the requests to a server over HTTP; nil for none.
	Authorizer func(*host.Upstream) mcpclient.Authorizer
	// Tool is the tool to call, with Arguments as a JSON object. Empty means that no tool is called.
	Tool      string
	Arguments jsontext.Value

	// Env looks up an environment variable. Default: os.LookupEnv.
	Env func(name string) (string, bool)
	// Redact removes secrets from a text, which may be one of a server, before it is in a Result.
	// Default: texts are unchanged.
	Redact func(string) string
	// RedactFix removes secrets from a command, which has words of the configuration and placeholders
	// such as NOTES_KEY=VALUE. Default: Redact.
	RedactFix func(string) string
	// Command returns a command of the host as a person types it, such as "fondaco approve notes".
	// Default: the words behind "fondaco".
	Command func(words ...string) string
	// OnResult is called for each result when it is known. Default: nothing.
	OnResult func(Result)
	// OnMessage gets the messages that are exchanged with the server, see mcpclient.Options.
	OnMessage func(mcp.WireMessage)

	// Lookup resolves the name of a host. Default: that of package net.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial makes a connection. Default: that of package net.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy returns the proxy of a request, nil for none. Default: that of the environment.
	Proxy func(*http.Request) (*url.URL, error)
	// RootCAs are the authorities that certificates are verified by. Default: those of the system.
	//
	// Lookup, Dial, Proxy and RootCAs are those of the checks of the network. The connection of the
	// protocol, which is made after them, has the defaults.
	RootCAs *x509.CertPool
	// Step limits each step over the network, each list, and each program that is asked for its version.
	// Default: 10 seconds.
	Step time.Duration
	// Start limits the start of the server, as its setting startupTimeout does. Default: that
	// setting, else 2 minutes for a program and 30 seconds for another server.
	Start time.Duration
}

// Problem is something wrong in a configuration file.
type Problem struct {
	// Text has the position in the file, and no secrets.
	Text string
	// Fatal says that the server is not run because of it.
	Fatal bool
}

// Admission says whether a server may be started or connected to.
type Admission struct {
	// Upstream is the server with the values of its references. It is nil unless the server is approved.
	Upstream *host.Upstream
	// Denied says why the managed policy denies the server. It is empty if it does not.
	Denied string
	// Changes say what has changed since the user approved the server. They are empty if it was never
	// approved.
	Changes []string
}

func (o *Options) env(name string) (string, bool) {
	if o.Env == nil {
		return os.LookupEnv(name)
	}
	return o.Env(name)
}

func (o *Options) redact(text string) string {
	if o.Redact == nil {
		return text
	}
	return o.Redact(text)
}

func (o *Options) redactFix(fix string) string {
	if o.RedactFix == nil {
		return o.redact(fix)
	}
	return o.RedactFix(fix)
}

func (o *Options) command(words ...string) string {
	if o.Command == nil {
		return host.ShellQuote("fondaco") + " " + quotedWords(words)
	}
	return o.Command(words...)
}

func (o *Options) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	if o.Lookup == nil {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	}
	return o.Lookup(ctx, name)
}

func (o *Options) dial(ctx context.Context, address string) (net.Conn, error) {
	if o.Dial == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	return o.Dial(ctx, "tcp", address)
}

func (o *Options) proxy(req *http.Request) (*url.URL, error) {
	if o.Proxy == nil {
		return http.ProxyFromEnvironment(req)
	}
	return o.Proxy(req)
}

// stepTimeout limits one step, unless Options.Step is set.
const stepTimeout = 10 * time.Second

func (o *Options) step() time.Duration { return cmp.Or(o.Step, stepTimeout) }

// The limits of a start, as in the host.
const (
	programStart = 2 * time.Minute
	remoteStart  = 30 * time.Second
)

func (o *Options) start(u *host.Upstream) time.Duration {
	byKind := remoteStart
	if _, ok := u.Target.(*mcpclient.CommandTarget); ok {
		byKind = programStart
	}
	return cmp.Or(o.Start, u.Settings.StartupTimeout, byKind)
}
