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

var upEntry = commandInfo{
	name: "up", does: "start the host, and serve until Ctrl-C",
	about:   "It runs FILE, or fondaco/mcp.json in $XDG_CONFIG_HOME, or a demonstration.",
	example: "up --config mcp.json --addr 127.0.0.1:0",
	make:    func() command { return new(upCommand) },
}

type upCommand struct {
	hostProcess
	auth  httpAuth
	addr  string
	pprof string // address for profiles; empty for none
}

func (v *upCommand) declare(f *flag.FlagSet) {
	v.hostProcess.declare(f)
	f.StringVar(&v.addr, "addr", defaultAddr, "`HOST:PORT` to listen on, 0 picks; default "+defaultAddr)
	v.auth.declare(f)
	f.StringVar(&v.pprof, "pprof", "", "serve profiles of the host at `HOST:PORT`, on loopback")
}

func (v *upCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 0 {
		return usagef("found %q, want no operands", operands[0])
	}
	listener, err := v.listen(m)
	if err != nil {
		return err
	}
	m.onClose(func() { _ = listener.Close() })
	profiled, err := m.listenForProfiles(v.pprof)
	if err != nil {
		return err
	}
	s := &summary{to: m, base: baseURL(listener.Addr())}
	protection, err := v.protection(m, s.base)
	if err != nil {
		return err
	}
	if err := v.open(m, v.auth.options(), s.onStatus); err != nil {
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
		m.message("starting the servers of the configuration: %d", len(v.upstreams))
	}
	return v.serve(ctx, listener, s, protection)
}

// protection returns the protection of the host, nil without authentication.
func (v *upCommand) protection(m *Main, base string) (*mcpauth.Resource, error) {
	if !v.auth.required() {
		return nil, nil
	}
	return v.auth.protect(base, m.logger())
}

// serve starts the upstreams, and serves until ctx is done. It does not wait for the
// upstreams: the summary is printed when each of them is ready or has failed.
func (v *upCommand) serve(ctx context.Context, listener net.Listener, s *summary, r *mcpauth.Resource) error {
	m := v.main
	v.serveControl(listener.Addr().(*net.TCPAddr).Port, s.base+"/mcp")
	defer v.startWatching(ctx)()
	defer v.startUpstreams(ctx, func() { s.print(v.gateway) })()
	m.message("LISTEN %s", listener.Addr())
	err := v.gateway.Server().ServeListener(ctx, listener, v.routes(s.base, r))
	if err != nil && ctx.Err() != nil {
		m.message("shutdown: calls were cancelled: %v", err)
		return nil
	}
	return err
}

// discardLogger is the logger of a command that reports errors itself.
func (m *Main) discardLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// logger is the logger of a host.
func (m *Main) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(m.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// routes returns the routes of the host: the MCP endpoints, a readiness check for load
// balancers and, without authentication, a status page.
func (v *upCommand) routes(base string, r *mcpauth.Resource) http.Handler {
	mux := http.NewServeMux()
	v.auth.serve(mux, r, map[string]http.Handler{
		"/mcp": v.gateway.Server().HTTPHandler(), "/sse": v.gateway.Server().EventStreamHandler(),
	})
	mux.Handle("/readyz", v.gateway.Server().ReadyHandler())
	if r == nil {
		mux.Handle("GET /{$}", page.New(base, v.gateway))
	}
	return mux
}

// demoKey is the key of the demonstration.
const demoKey = "demo"

func (m *Main) demonstration() host.Upstream {
	srv, stop := demo.New()
	m.onClose(stop)
	return host.Upstream{
		Key: demoKey, Target: mcpclient.InProcess(srv), Transport: "in this process",
		Settings: host.Settings{Share: true}, // all callers share its notes
	}
}

// reportClientConfigs prints which MCP clients have configured servers, and how to run
// them here. It starts nothing.
func (m *Main) reportClientConfigs() {
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	for _, f := range config.FindClientConfigs(m.getenv, dir) {
		m.message("found servers of %s; to run them: %s up --config %s", f.Client.Name, m.program(), quote(f.Path))
	}
}

// listen listens on a loopback address, or on another one with authentication or
// --insecure-no-auth.
func (v *upCommand) listen(m *Main) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(v.addr); err != nil {
		return nil, usagef("--addr %q: want HOST:PORT, such as %s", v.addr, defaultAddr)
	}
	resolved, err := net.ResolveTCPAddr("tcp", v.addr)
	if err != nil {
		return nil, usagef("--addr %q: %w", v.addr, err)
	}
	if err := v.auth.check(resolved); err != nil {
		return nil, err
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, fmt.Errorf("%w; %s; use another port with --addr, or port 0 for any free one", err, m.portUser(resolved.Port))
	}
	return listener, nil
}

// portUser names the host that uses a port, or how to find the program that does.
func (m *Main) portUser(port int) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s, err := control.NewClient(control.Path(control.Dir(m.getenv), port)).Status(ctx)
	if err != nil {
		return fmt.Sprintf("another program uses the port; \"lsof -i :%d\" shows which", port)
	}
	return fmt.Sprintf("your host with process ID %d uses the port", s.PID)
}

// baseURL is the root URL of the host, as a client on this machine reaches it.
func baseURL(addr net.Addr) string {
	at := addr.(*net.TCPAddr)
	host := at.IP.String()
	if at.IP.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(at.Port))
}
