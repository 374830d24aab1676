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
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const (
	defaultPort = 7332
	defaultAddr = "127.0.0.1:7332"
	defaultURL  = "http://" + defaultAddr + "/mcp"
	urlVariable = "FONDACO_URL"
	// clientName is the name of this program as a client.
	clientName = "fondaco-cli"
)

// serverFlags says which server a command uses, and how it prints the result. The server
// is
//
//   - the one that the command line names, by a URL, a command or a configuration;
//   - else the one at $FONDACO_URL;
//   - else the running host, by its control socket;
//   - else a host in this process, with the user's own configuration.
type serverFlags struct {
	asksNobody bool // the options of connect have what answers questions, or the client takes none
	output
	url     string
	config  string
	command []string // after "--"; nil without "--"
	headers requestHeaders
	timeout time.Duration
}

func (e *serverFlags) declare(f *flag.FlagSet) {
	e.declareOneServer(f)
	f.StringVar(&e.config, "config", "", "run the servers of `FILE` for this one command")
}

// declareOneServer leaves out the servers of a file, for commands that are about one server.
func (e *serverFlags) declareOneServer(f *flag.FlagSet) {
	e.output.declare(f)
	f.StringVar(&e.url, "url", "", "use the server at a `URL` instead of the running host")
	e.headers.declare(f)
	f.DurationVar(&e.timeout, "timeout", 0, "give up after a `TIME` such as 30s")
}

func (e *serverFlags) takeCommand(words []string) { e.command = words }

func (e *serverFlags) limit() time.Duration { return e.timeout }

// programConnectTimeout limits the start of a program that the user has typed, as a host limits that of its servers: npx
// and go run may download and compile first.
const programConnectTimeout = 2 * time.Minute

// setTimeouts sets the timeouts of the connection. With --timeout the context of the command has the limit.
func (e *serverFlags) setTimeouts(t *mcpclient.TimeoutOptions) {
	switch {
	case e.timeout > 0:
		t.Call, t.MaxCall, t.Connect = -1, -1, 2*e.timeout
	case e.command != nil:
		t.Connect = programConnectTimeout
	}
}

// serverConn is a connection of a command to its server.
type serverConn struct {
	*mcpclient.Client
	questions *elicitor
	config    string // of the host, if --config was given to it
	running   bool   // it is a host of this user in another process, which can ask its user
	// statuses returns the status of the upstreams; nil if the server is no host.
	statuses func(context.Context) ([]host.Status, error)
}

// connect connects to the server until Close. A host in this process starts only the
// upstream with the given key, or all if it is empty. Options may be nil.
func (e *serverFlags) connect(ctx context.Context, m *Main, key string, o *mcpclient.Options) (*serverConn, error) {
	if o == nil {
		o = new(mcpclient.Options)
	}
	o.Info = mcp.Implementation{Name: clientName, Title: "Fondaco command line", Version: host.Version}
	o.Logger = m.discardLogger()
	wire, err := m.wireLog()
	if err != nil {
		return nil, err
	}
	o.OnMessage = onMessage(wire, "")
	e.setTimeouts(&o.Timeouts)
	p := new(serverConn)
	p.questions = &elicitor{to: m, from: p}
	target, err := e.target(ctx, m, key, p, o)
	if err != nil {
		return nil, err
	}
	if o.ElicitForm == nil && !e.asksNobody && (m.Interactive || !p.running) {
		p.questions.handle(o)
	}
	w := m.StartProgress("connecting to %s", target)
	p.Client, err = mcpclient.Connect(ctx, target, o)
	w.Stop()
	if err != nil {
		return nil, e.connectError(m, target, err)
	}
	m.onClose(func() { _ = p.Close() })
	return p, nil
}

// connectError explains why there is no connection.
func (e *serverFlags) connectError(m *Main, target mcpclient.Target, err error) error {
	switch code := exitCode(err); code {
	case exitSignIn:
		if !errors.Is(err, mcpauth.ErrSignInRequired) { // a token would not help, or cannot be had
			return &codedError{code, err}
		}
		with := ""
		if e.headers.given() {
			with = " with the same --header"
		}
		return codedErrorf(code, "%w; %s%s signs in", err, m.signInCommand(target.String(), ""), with)
	case exitUnreachable:
		if strings.Contains(target.String(), defaultAddr) {
			return codedErrorf(code, "%w; %s up starts a host there", err, m.program())
		}
		return codedErrorf(code, "%w%s", err, connectAdvice(err.Error()))
	case exitTimeout, exitProtocol:
		return err
	}
	return codedErrorf(exitUnreachable, "%w%s", err, connectAdvice(err.Error()))
}

// target returns the server's target.
func (e *serverFlags) target(ctx context.Context, m *Main, key string, p *serverConn, o *mcpclient.Options) (mcpclient.Target, error) {
	url, _ := m.Getenv(urlVariable)
	switch named := e.named(); {
	case len(named) > 1:
		return nil, usagef("found both %s and %s, want one of them", named[0], named[1])
	case e.url != "" && !strings.Contains(e.url, "://"):
		return nil, usagef("--url %q: want a URL such as %s", e.url, defaultURL)
	case e.headers.given() && (e.command != nil || e.config != ""):
		return nil, usagef("found --token or --header with %s, want them with a server over HTTP", named[0])
	case e.headers.given():
		return e.targetWithHeaders(ctx, m, o)
	case e.command != nil:
		t, err := commandTarget(e.command)
		if err != nil {
			return nil, err
		}
		return t, m.checkDirect(t)
	case e.config != "":
		return e.startHost(ctx, m, key, p)
	case e.url != "":
		return m.remoteTarget(ctx, e.url, p, o)
	case url != "":
		if token, _ := m.Getenv(tokenVariable); token != "" {
			return e.targetWithHeaders(ctx, m, o)
		}
		return m.remoteTarget(ctx, url, p, o)
	}
	switch r, err := m.runningHost(ctx); {
	case err != nil:
		return nil, err
	case r != nil:
		return r.connectTo(p, o), nil
	}
	if config.Find(m.Getenv) == "" {
		return nil, codedErrorf(exitUnreachable, "no host is running at %s, and you have no configuration; %s up starts a host, --url, --config and -- COMMAND name a server", defaultURL, m.program())
	}
	return e.startHost(ctx, m, key, p)
}

// targetWithHeaders is a server over HTTP to which the command sends headers of its own:
// that of --url, that at $FONDACO_URL, or the running host. The control socket is not
// used, because it identifies the user and not the holder of a token.
func (e *serverFlags) targetWithHeaders(ctx context.Context, m *Main, o *mcpclient.Options) (mcpclient.Target, error) {
	url, token := e.url, ""
	if url == "" {
		url, _ = m.Getenv(urlVariable)
		token, _ = m.Getenv(tokenVariable)
	}
	header, err := e.headers.read(token)
	if err != nil {
		return nil, err
	}
	if url == "" {
		switch r, err := m.runningHost(ctx); {
		case err != nil:
			return nil, err
		case r == nil || r.status.Endpoint == "":
			return nil, codedErrorf(exitUnreachable, "no host is running; want --url with the server that the token is for")
		default:
			url = r.status.Endpoint
		}
	}
	o.HTTP.Header = header
	target := mcpclient.URL(url)
	if m.isOwnHost(ctx, url) {
		return target, nil
	}
	if err := m.checkDirect(target); err != nil {
		return nil, err
	}
	m.useStoredToken(target, o)
	return target, nil
}

// named returns the flags by which the command line names a server.
func (e *serverFlags) named() (ways []string) {
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

// commandTarget is a server whose command the user has typed. It needs no approval, and
// inherits the environment like every command.
func commandTarget(words []string) (mcpclient.Target, error) {
	if len(words) == 0 {
		return nil, usagef("found nothing after --, want the command of a server")
	}
	t := mcpclient.Command(words[0], words[1:]...)
	t.InheritEnv = true
	return t, nil
}

// startHost starts a host in this process that no other process can reach.
func (e *serverFlags) startHost(ctx context.Context, m *Main, key string, p *serverConn) (mcpclient.Target, error) {
	m.briefNotes = true // each call would repeat them
	h := &hostProcess{config: e.config, only: key}
	if err := h.open(m, nil, nil); err != nil {
		return nil, err
	}
	if err := h.askForServers(ctx); err != nil {
		return nil, err
	}
	m.onClose(h.startQuestions(ctx, ""))
	w := m.StartProgress("starting servers: %d", len(h.servers.Servers()))
	h.gateway.Start(ctx)
	w.Stop()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := h.askForDefinitions(ctx); err != nil {
		return nil, err
	}
	p.config = h.config
	p.statuses = func(context.Context) ([]host.Status, error) { return h.gateway.Status(), nil }
	h.reportUnavailable()
	return mcpclient.InProcess(h.gateway.Server()), nil
}

// reportUnavailable prints the upstreams that are not ready.
func (h *hostProcess) reportUnavailable() {
	s := &summary{to: h.main, config: h.config}
	for _, u := range h.gateway.Status() {
		if u.State != host.Ready && u.State != host.Idle {
			h.main.Info("server %s: %s: %s", u.Key, u.State, terminal.CleanLine(s.describe(u)))
		}
	}
}

// collect reads all pages of a list. An empty list is not nil, so it is an empty array in
// JSON.
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

// optionalList is collect for a list that a server need not implement.
func optionalList[T any](items iter.Seq2[T, error]) ([]T, error) {
	all, err := collect(items)
	if answer, ok := errors.AsType[*mcp.Error](err); ok && answer.Code == mcp.CodeMethodNotFound {
		return []T{}, nil
	}
	return all, err
}
