package cli

import (
	"context"
	"errors"
	"flag"
	"iter"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const (
	defaultPort = 7332
	defaultAddr = "127.0.0.1:7332"
	defaultURL  = "http://" + defaultAddr + "/mcp"
	urlVariable = "FONDACO_URL"
)

// endpoint is where a verb finds the server that it asks, and the form in which
// it shows the answer. The server is
//
//   - the one that the command line names, by a URL, a command or a configuration;
//   - else the one at $FONDACO_URL;
//   - else the host that runs, by its socket;
//   - else a host of this process, with the user's own configuration.
type endpoint struct {
	output
	url     string
	config  string
	command []string // after "--"; nil when there is none
	timeout time.Duration
}

func (e *endpoint) declare(f *flag.FlagSet) {
	e.output.declare(f)
	f.StringVar(&e.url, "url", "", "ask the server at a `URL`, not the host that runs")
	f.StringVar(&e.config, "config", "", "run the servers of `FILE` for this one command")
	f.DurationVar(&e.timeout, "timeout", 0, "give up after a `TIME` such as 30s")
}

func (e *endpoint) takeCommand(words []string) { e.command = words }

func (e *endpoint) limit() time.Duration { return e.timeout }

// place is where a verb asks.
type place struct {
	*mcpclient.Client
	questions *questions
	config    string // of the host, if it was given a file
	// statuses tells of the upstreams, where there is a host.
	statuses func(context.Context) ([]host.Status, error)
}

// connect connects to the server until Close. The key is that of the upstream
// that alone is needed, or empty. Options may be nil.
func (e *endpoint) connect(ctx context.Context, m *Main, key string, o *mcpclient.Options) (*place, error) {
	if o == nil {
		o = new(mcpclient.Options)
	}
	o.Info = mcp.Implementation{Name: "fondaco-cli", Title: "Fondaco command line", Version: host.Version}
	o.Logger = m.silent()
	if e.timeout > 0 {
		o.Timeout, o.MaxTimeout, o.InitTimeout = -1, -1, 2*e.timeout // ctx ends it before
	}
	p := &place{questions: &questions{to: m}}
	p.questions.handle(o)
	target, err := e.target(ctx, m, key, p, o)
	if err != nil {
		return nil, err
	}
	w := m.measure("connecting to %s", target)
	p.Client, err = mcpclient.Connect(ctx, target, o)
	w.stop()
	if err != nil {
		return nil, m.unreachable(target, err)
	}
	m.closing(func() { _ = p.Close() })
	return p, nil
}

// unreachable says why there is no connection.
func (m *Main) unreachable(target mcpclient.Target, err error) error {
	switch code := exitCode(err); code {
	case exitSignIn:
		if !errors.Is(err, mcpauth.ErrSignInRequired) { // a token would not change it, or none is to be had
			return &codedError{code, err}
		}
		return coded(code, "%w; %s signs in", err, m.signInCommand(target.String(), ""))
	case exitUnreachable:
		if strings.Contains(target.String(), defaultAddr) {
			return coded(code, "%w; %s up starts a host there", err, m.program())
		}
		return err
	case exitTimeout, exitProtocol:
		return err
	}
	return &codedError{exitUnreachable, err}
}

// target finds the server.
func (e *endpoint) target(ctx context.Context, m *Main, key string, p *place, o *mcpclient.Options) (mcpclient.Target, error) {
	url, _ := m.lookup(urlVariable)
	switch named := e.named(); {
	case len(named) > 1:
		return nil, usagef("found both %s and %s, want one of them", named[0], named[1])
	case e.command != nil:
		return commandTarget(e.command)
	case e.config != "":
		return e.hostHere(ctx, m, key, p)
	case e.url != "":
		return m.remote(ctx, e.url, p, o), nil
	case url != "":
		return m.remote(ctx, url, p, o), nil
	}
	switch r, err := m.theRunning(ctx); {
	case err != nil:
		return nil, err
	case r != nil:
		return r.lead(p, o), nil
	}
	if config.Find(m.lookup) == "" {
		return nil, coded(exitUnreachable, "nothing answers at %s, and there is no configuration of your own; %s up starts a host, --url, --config and -- COMMAND name a server", defaultURL, m.program())
	}
	return e.hostHere(ctx, m, key, p)
}

// named returns the ways in which the command line names a server.
func (e *endpoint) named() (ways []string) {
	if e.url != "" {
		ways = append(ways, "--url")
	}
	if e.config != "" {
		ways = append(ways, "--config")
	}
	if e.command != nil {
		ways = append(ways, "a command after --")
	}
	return ways
}

// commandTarget is a server that the user has just typed the command of: there is
// nothing to approve, and it gets the environment as any command does.
func commandTarget(words []string) (mcpclient.Target, error) {
	if len(words) == 0 {
		return nil, usagef("nothing follows --, want the command of a server")
	}
	t := mcpclient.Command(words[0], words[1:]...)
	t.InheritEnv = true
	return t, nil
}

// hostHere starts a host in this process that nobody else reaches.
func (e *endpoint) hostHere(ctx context.Context, m *Main, key string, p *place) (mcpclient.Target, error) {
	h := &hosting{config: e.config, only: key}
	if err := h.open(m, nil, nil); err != nil {
		return nil, err
	}
	if err := h.askForPrograms(ctx); err != nil {
		return nil, err
	}
	w := m.measure("starting servers: %d", len(h.upstreams))
	h.gateway.Start(ctx)
	w.stop()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.config = h.config
	p.statuses = func(context.Context) ([]host.Status, error) { return h.gateway.Status(), nil }
	h.tellOfMissing()
	return mcpclient.InProcess(h.gateway.Server()), nil
}

// tellOfMissing tells of upstreams that are not there.
func (h *hosting) tellOfMissing() {
	s := &summary{to: h.main, config: h.config}
	for _, u := range h.gateway.Status() {
		if u.State != host.Ready && u.State != host.Idle {
			h.main.note("server %s: %s: %s", u.Key, u.State, cleanLine(s.account(u)))
		}
	}
}

// collect takes a whole list. One without items is not nil, and so an empty
// array in JSON.
func collect[T any](items iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// listOf is collect for a list that a server need not have.
func listOf[T any](items iter.Seq2[T, error]) ([]T, error) {
	all, err := collect(items)
	if answer, ok := errors.AsType[*mcp.Error](err); ok && answer.Code == mcp.CodeMethodNotFound {
		return []T{}, nil
	}
	return all, err
}
