package cli

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/demo"
	"github.com/fondaco/fondaco/host/page"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var upEntry = entry{
	name: "up", does: "start the host, and serve until Ctrl-C",
	about:   "It runs FILE, or fondaco/mcp.json in $XDG_CONFIG_HOME, or a demonstration.",
	example: "up --config mcp.json --addr 127.0.0.1:0",
	make:    func() verb { return new(upVerb) },
}

type upVerb struct {
	hosting
	guard guard
	addr  string
	pprof string // where profiles are served; empty for nowhere
}

func (v *upVerb) declare(f *flag.FlagSet) {
	v.hosting.declare(f)
	f.StringVar(&v.addr, "addr", defaultAddr, "`HOST:PORT` to listen on, 0 picks; default "+defaultAddr)
	v.guard.declare(f)
	f.StringVar(&v.pprof, "pprof", "", "serve profiles of the host at `HOST:PORT`, on loopback")
}

func (v *upVerb) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 0 {
		return usagef("found %q, want no operands", operands[0])
	}
	listener, err := v.listen(m)
	if err != nil {
		return err
	}
	m.closing(func() { _ = listener.Close() })
	profiled, err := m.listenForProfiles(v.pprof)
	if err != nil {
		return err
	}
	s := &summary{to: m, base: baseURL(listener.Addr())}
	protection, err := v.protection(m, s.base)
	if err != nil {
		return err
	}
	if err := v.open(m, v.guard.options(), s.news); err != nil {
		return err
	}
	if profiled != nil {
		m.serveProfiles(profiled, v.gateway.Server())
	}
	s.config = v.config
	if s.demonstration = v.path == ""; !s.demonstration {
		if err := v.askForPrograms(ctx); err != nil {
			return err
		}
		m.say("starting the servers of the configuration: %d", len(v.upstreams))
	}
	v.gateway.Start(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return v.serve(ctx, listener, s, protection)
}

// protection returns what protects the host, nil where nobody is asked who they are.
func (v *upVerb) protection(m *Main, base string) (*mcpauth.Resource, error) {
	if !v.guard.asks() {
		return nil, nil
	}
	return v.guard.protect(base, m.logger())
}

// serve tells that the host is there, and serves until ctx is done.
func (v *upVerb) serve(ctx context.Context, listener net.Listener, s *summary, r *mcpauth.Resource) error {
	m := v.main
	v.serveControl(listener.Addr().(*net.TCPAddr).Port, s.base+"/mcp")
	defer v.followApart(ctx)()
	s.print(v.gateway)
	m.say("LISTEN %s", listener.Addr())
	err := v.gateway.Server().ServeListener(ctx, listener, v.routes(s.base, r))
	if err != nil && ctx.Err() != nil {
		m.say("what still ran was given up: %v", err)
		return nil
	}
	return err
}

// silent is the log of a verb that tells what went wrong itself.
func (m *Main) silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// logger is the log of a host that goes on for long.
func (m *Main) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(m.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// routes is what the host serves: both kinds of endpoint, whether it is ready, for
// load balancers, and a page that says what there is, where everybody may know.
func (v *upVerb) routes(base string, r *mcpauth.Resource) http.Handler {
	mux := http.NewServeMux()
	v.guard.serve(mux, r, map[string]http.Handler{
		"/mcp": v.gateway.Server().HTTPHandler(), "/sse": v.gateway.Server().EventStreamHandler(),
	})
	mux.Handle("/readyz", v.gateway.Server().ReadyHandler())
	if r == nil {
		mux.Handle("GET /{$}", page.New(base, v.gateway))
	}
	return mux
}

// demoKey is the name of the demonstration among the upstreams.
const demoKey = "demo"

func (m *Main) demonstration() host.Upstream {
	srv, stop := demo.New()
	m.closing(stop)
	return host.Upstream{
		Key: demoKey, Target: mcpclient.InProcess(srv), Transport: "in this process",
		Settings: host.Settings{Share: true}, // its notes are there for everybody
	}
}

// nameForeign tells of servers that other programs have configured, and how to
// run them here. Nothing of them is read or started.
func (m *Main) nameForeign() {
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	for _, f := range config.FindClientConfigs(m.lookup, dir) {
		m.say("found servers of %s; to run them: %s up --config %s", f.Client.Name, m.program(), quote(f.Path))
	}
}

// listen listens on an address of this machine alone, unless callers are asked who
// they are or the user insists.
func (v *upVerb) listen(m *Main) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(v.addr); err != nil {
		return nil, usagef("--addr %q: want HOST:PORT, such as %s", v.addr, defaultAddr)
	}
	resolved, err := net.ResolveTCPAddr("tcp", v.addr)
	if err != nil {
		return nil, usagef("--addr %q: %w", v.addr, err)
	}
	if err := v.guard.check(resolved); err != nil {
		return nil, err
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, fmt.Errorf("%w; %s; --addr names another address, with port 0 a free one", err, m.holderOf(resolved.Port))
	}
	return listener, nil
}

// holderOf says who has a port, as far as that can be known, or whom to ask.
func (m *Main) holderOf(port int) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s, err := control.NewClient(control.Path(control.Dir(m.lookup), port)).Status(ctx)
	if err != nil {
		return fmt.Sprintf("another program has it, which \"lsof -i :%d\" names", port)
	}
	return fmt.Sprintf("a host of yours has it, process %d", s.PID)
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
