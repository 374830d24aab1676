package cli

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/demo"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var upEntry = entry{
	name: "up", does: "start the host, and serve until Ctrl-C",
	about: `It runs the servers of FILE, or else of fondaco/mcp.json in $XDG_CONFIG_HOME
(~/.config), or else a demonstration server. FILE has the form of other clients:
{"mcpServers": {"NAME": {"command": …, "args": […]} or {"url": …}}}.
The line "LISTEN host:port" on standard error tells that it is ready. A second
Ctrl-C ends it at once.`,
	example: "up --config mcp.json --addr 127.0.0.1:0",
	make:    func() verb { return new(upVerb) },
}

type upVerb struct {
	addr   string
	config string
	noAuth bool
}

func (v *upVerb) declare(f *flag.FlagSet) {
	f.StringVar(&v.addr, "addr", defaultAddr, "`HOST:PORT` to listen on, 0 picks; default "+defaultAddr)
	f.StringVar(&v.config, "config", "", "run the servers of `FILE`")
	f.BoolVar(&v.noAuth, "insecure-no-auth", false, "serve other machines, though nobody is asked who they are")
}

func (v *upVerb) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 0 {
		return usagef("found %q, want no operands", operands[0])
	}
	upstreams, demonstration, err := v.upstreams(m)
	if err != nil {
		return err
	}
	listener, err := listen(v.addr, v.noAuth)
	if err != nil {
		return err
	}
	m.closing(func() { _ = listener.Close() })

	s := &summary{to: m, base: baseURL(listener.Addr()), demonstration: demonstration}
	g := gateway.New(upstreams, &gateway.Options{OnStatus: s.news, Logger: m.logger()})
	m.closing(g.Close)
	if !demonstration {
		m.say("starting the servers of the configuration: %d", len(upstreams))
	}
	g.Start(ctx)
	if ctx.Err() != nil {
		return nil
	}
	s.print(g)
	m.say("LISTEN %s", listener.Addr())
	err = g.Server().ServeListener(ctx, listener, v.routes(g, s.base))
	if err != nil && ctx.Err() != nil {
		m.say("what still ran was given up: %v", err)
		return nil
	}
	return err
}

// logger is the log of a host that goes on for long.
func (m *Main) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(m.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// routes is what the host serves: both kinds of endpoint, and a page that says
// so.
func (v *upVerb) routes(g *gateway.Gateway, base string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", g.Server().HTTPHandler())
	mux.Handle("/sse", g.Server().EventStreamHandler())
	mux.Handle("GET /{$}", page(base))
	return mux
}

// upstreams returns what to run: what the file says that the user named, else
// that which is found, else the demonstration.
func (v *upVerb) upstreams(m *Main) (upstreams []host.Upstream, demonstration bool, err error) {
	path := v.config
	if path == "" {
		path = config.Find(m.lookup)
	}
	if path == "" {
		m.nameForeign()
		return []host.Upstream{m.demonstration()}, true, nil
	}
	c, err := config.Load(path, m.lookup)
	if err != nil {
		return nil, false, &codedError{exitUsage, err}
	}
	for _, note := range c.Notes {
		m.say("%s: %s", path, clean(note))
	}
	return c.Upstreams, false, nil
}

// demoKey is the name of the demonstration among the upstreams.
const demoKey = "demo"

func (m *Main) demonstration() host.Upstream {
	srv, stop := demo.New()
	m.closing(stop)
	return host.Upstream{Key: demoKey, Target: mcpclient.InProcess(srv), Reached: "in this process"}
}

// nameForeign tells of servers that other programs have configured, and how to
// run them here. Nothing of them is read or started.
func (m *Main) nameForeign() {
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	for _, f := range config.FindForeign(m.lookup, dir) {
		m.say("found servers of %s; to run them: %s up --config %s", f.Program, m.program(), quote(f.Path))
	}
}

// listen listens on an address of this machine alone, unless the user insists.
func listen(addr string, noAuth bool) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, usagef("--addr %q: want HOST:PORT, such as %s", addr, defaultAddr)
	}
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, usagef("--addr %q: %w", addr, err)
	}
	if !resolved.IP.IsLoopback() && !noAuth {
		return nil, usagef("--addr %s: other machines could reach it, and nobody is asked who they are; want a loopback address such as %s, or --insecure-no-auth where everybody may use these servers", addr, defaultAddr)
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, fmt.Errorf("%w; --addr names another address, with port 0 a free one", err)
	}
	return listener, nil
}

// baseURL is the root of what is served, as a client on this machine reaches it.
func baseURL(addr net.Addr) string {
	at := addr.(*net.TCPAddr)
	host := at.IP.String()
	if at.IP.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(at.Port))
}
