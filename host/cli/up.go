package cli

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/demo"
	"github.com/fondaco/fondaco/host/httpserver"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

var upEntry = commandInfo{
	name: "up", does: "start the host, and serve until Ctrl-C",
	example: "up --config mcp.json --addr 127.0.0.1:0",
	make:    func() command { return new(upCommand) },
}

// lameDuck is how long a host serves after its context has ended, 0 for the default. Tests shorten it.
var lameDuck time.Duration

type upCommand struct {
	hostProcess
	auth      httpAuth
	transport httpTransport
	names     httpNames
	addr      string
	store     string // address of what hosts share; empty for that of the environment, if any
	replicas  *httpserver.Replicas
	pprof     string // address for profiles; empty for none
	record    string // directory of recordings; empty for none
	size      int64  // of that directory, in MiB
	reports   telemetryFlags
}

func (v *upCommand) declare(f *flag.FlagSet) {
	v.hostProcess.declare(f)
	f.StringVar(&v.addr, "addr", defaultAddr, "`HOST:PORT` to listen on, 0 picks; default "+defaultAddr)
	f.StringVar(&v.store, "store", "", "keep state at `URL`: Redis, NATS or PostgreSQL, or file:PATH")
	v.auth.declare(f)
	v.transport.declare(f)
	v.names.declare(f)
	f.StringVar(&v.record, "record", "", "record the messages in `DIR`, without secrets")
	declareRecordingSize(f, "record-size", &v.size)
	v.reports.declare(f)
	f.StringVar(&v.pprof, "pprof", "", "serve profiles of the host at `HOST:PORT`, on loopback")
}

func (v *upCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 0 {
		return usagef("found %q, want no operands", operands[0])
	}
	if err := v.openStore(m); err != nil {
		return err
	}
	if err := v.auth.ensureTokens(m); err != nil {
		return err
	}
	listener, err := v.listen(m)
	if err != nil {
		return err
	}
	m.onClose(func() { _ = listener.Close() })
	s := &summary{to: m, base: v.transport.baseURL(listener.Addr())}
	web, protection, err := v.access(m, s.base)
	if err != nil {
		return err
	}
	if err := v.openHost(ctx, m, listener.Addr(), web, s.onStatus); err != nil {
		return err
	}
	v.describe(s)
	if err := v.askAtStart(ctx); err != nil {
		return err
	}
	if v.replicas, err = v.joinReplicas(ctx, listener); err != nil {
		return err
	}
	defer v.replicas.Run(ctx)()
	defer v.gateway.Close() // before another host starts processes of the same callers
	return v.serve(ctx, listener, s, protection, v.newConsole(s.base, web.AllowedHosts, v.auth.required()))
}

// openStore opens what hosts share, if --store or the environment names it.
func (v *upCommand) openStore(m *Main) (err error) {
	if v.keys, err = m.sharedKeys(); err != nil {
		return err
	}
	m.storeURL = v.store
	v.engine, err = m.storage().Engine()
	return err
}

// access returns under which names clients reach the host at a URL, and its protection, nil without authentication.
func (v *upCommand) access(m *Main, base string) (*mcpserver.HTTPOptions, *mcpauth.Resource, error) {
	web, err := v.names.options(slices.Concat(v.auth.hosts(), v.transport.domains)...)
	if err != nil {
		return nil, nil, err
	}
	web.TrustedProxies, web.LameDuck = v.transport.trusted, lameDuck
	if !v.auth.required() {
		return web, nil, nil
	}
	protection, err := v.auth.protect(base, web.AllowedHosts, m.logger())
	return web, protection, err
}

// openHost opens the host that is served at an address, with its telemetry, profiles and recording.
func (v *upCommand) openHost(ctx context.Context, m *Main, addr net.Addr, web *mcpserver.HTTPOptions, onStatus func(host.Status)) error {
	profiled, err := m.listenForProfiles(v.pprof)
	if err != nil {
		return err
	}
	if v.telemetry, err = m.openTelemetry(ctx, v.reports, v.transport.trusted, v.isPublic(addr)); err != nil {
		return err
	}
	if v.telemetry != nil && v.engine != nil {
		v.engine.Wrap(v.telemetry.Store, v.telemetry.Bus)
	}
	if err := v.open(m, web, onStatus); err != nil {
		return err
	}
	if profiled != nil {
		m.serveProfiles(profiled, v.gateway.Server())
	}
	if err := v.startRecording(); err != nil {
		return err
	}
	v.revoked, err = v.openRevocations(ctx, v.auth.required())
	return err
}

// describe gives the summary what only the flags say.
func (v *upCommand) describe(s *summary) {
	s.config, s.demonstration = v.config, v.path == ""
	if v.auth.issuer == "" { // else clients find the authorization server
		s.tokens, s.tokenFlag = v.auth.tokens, tokenFlag(v.auth.tokens)
	}
}

// askAtStart asks the user for what the servers of the configuration need to be started.
func (v *upCommand) askAtStart(ctx context.Context) error {
	if v.path == "" {
		return nil
	}
	v.questions.approvals = newApprovalQuestions(&v.hostProcess)
	if err := v.askForServers(ctx); err != nil {
		return err
	}
	v.main.Message("starting the servers of the configuration: %d", len(v.servers.Servers()))
	return nil
}

// isPublic reports whether clients on other machines can reach the host at its address: they are behind a proxy, or the address is
// that of a network.
func (v *upCommand) isPublic(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return len(v.transport.trusted) > 0 || ok && !tcp.IP.IsLoopback()
}

// startRecording records from now on, if --record says so.
func (v *upCommand) startRecording() error {
	v.main.onClose(v.recordings.close)
	if v.record == "" {
		return nil
	}
	if v.size < 1 {
		return usagef("--record-size %d: want at least 1, in MiB", v.size)
	}
	if _, err := v.recordings.start(v.main, v.record, v.size<<20); err != nil {
		return usagef("--record: %w", err)
	}
	v.main.Message("recording   in %s, with the bodies of messages", terminal.CleanLine(v.record))
	return nil
}

// serve starts the upstreams, and serves until ctx is done. It does not wait for the
// upstreams: the summary is printed when each of them is ready or has failed.
func (v *upCommand) serve(ctx context.Context, listener net.Listener, s *summary, r *mcpauth.Resource, c *console.Console) error {
	m := v.main
	defer context.AfterFunc(ctx, c.Close)()
	if m.Interactive { // otherwise the messages may be a log
		s.consoleLink = c.Link
	}
	port := listener.Addr().(*net.TCPAddr).Port
	socket := control.Path(control.Dir(m.Getenv), port)
	v.serveControl(port, s.base+"/mcp", c.Link)
	defer v.startQuestions(ctx, socket)()
	defer v.questions.announceConsole(ctx, socket)()
	defer m.storage().Watch(ctx)()
	defer v.startWatching(ctx)()
	defer v.revoked.StartWatching(ctx)()
	defer v.startUpstreams(ctx, func() {
		s.print(v.gateway)
		v.askForApprovals()
	})()
	m.Message("LISTEN %s", listener.Addr())
	if !v.auth.required() && !v.auth.noAuth {
		m.Message("every user and program of this machine can use the host at this address; --protect requires a token")
	}
	err := v.gateway.Server().ServeListener(ctx, listener, httpserver.Handler(v.gateway.Server(), httpserver.Options{
		Resource: r, Revocations: v.revoked, Replicas: v.replicas, Console: c, Proxies: v.transport.onlyFrom(),
	}))
	if err != nil && ctx.Err() != nil {
		m.Message("shutdown: calls were cancelled: %v", err)
		return nil
	}
	return err
}

// discardLogger is the logger of a command that reports errors itself.
func (m *Main) discardLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// logger is the logger of a host.
func (m *Main) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(logWriter{m}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// sharedKeys returns the keys of the environment that several hosts can have in common, if there
// are any.
func (m *Main) sharedKeys() ([]mcpserver.Key, error) {
	text, _ := m.Getenv(mcpserver.KeysVariable)
	if text == "" {
		return nil, nil
	}
	keys, err := mcpserver.ParseKeys(text)
	if err != nil {
		return nil, usagef("%s: %w", mcpserver.KeysVariable, err)
	}
	return keys, nil
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
// them here. It starts nothing. A client of which only this host is a server is left out.
// For the files of a project it suggests no command that runs them, and does not read
// them: who wrote them is unknown.
func (m *Main) reportClientConfigs() {
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	for _, f := range config.FindClientConfigs(m.Getenv, dir) {
		if f.Project {
			m.Message("found servers of %s in this directory; to see them: %s config show --config %s", f.Client.Name, m.program(), host.ShellQuote(f.Path))
			continue
		}
		if servers, faults := f.Servers(m.Getenv, dir); len(servers)+len(faults) == 0 {
			continue
		}
		m.Message("found servers of %s; to run them: %s up --config %s", f.Client.Name, m.program(), host.ShellQuote(f.Path))
	}
}

// listen listens on a loopback address, or on another one if the flags say how clients
// authenticate and what protects their requests on the network.
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
	if err := v.transport.check(resolved); err != nil {
		return nil, err
	}
	secure, err := v.transport.config(m)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, fmt.Errorf("%w; %s; use another port with --addr, or port 0 for any free one", err, m.portUser(resolved.Port))
	}
	if secure != nil {
		return tls.NewListener(listener, secure), nil
	}
	return listener, nil
}

// portUser names the host that uses a port, or how to find the program that does.
func (m *Main) portUser(port int) string {
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	s, err := control.NewClient(control.Path(control.Dir(m.Getenv), port)).Status(ctx)
	if err != nil {
		return fmt.Sprintf("another program uses the port; \"lsof -i :%d\" shows which", port)
	}
	return fmt.Sprintf("your host with process ID %d uses the port", s.PID)
}
