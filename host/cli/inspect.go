package cli

import (
	"context"
	"flag"
	"net"
	"net/http"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/httpserver"
	"github.com/fondaco/fondaco/host/signin"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpcheck"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

var inspectEntry = commandInfo{
	name: "inspect", operands: "URL | -- COMMAND...", does: "open the console on one server",
	about: `A host runs until Ctrl-C with this server alone, which is in no configuration,
and the browser opens its console: the forms of its tools, its messages, its log,
and the checks of "fondaco check". You have typed the command or the URL, so it
needs no approval; nothing is written to your configuration or your approvals,
and calls are in no audit log. A stored token of "fondaco auth login URL" is used,
and renewed; a sign-in in the console ends with the host. The host has a free port
of the loopback interface for itself, which every user and program of this machine
can use.`,
	example: "inspect -- ./notes-server",
	make:    func() command { return new(inspectCommand) },
}

type inspectCommand struct {
	headers requestHeaders
	program []string // after "--"; nil without "--"
	noOpen  bool
}

func (v *inspectCommand) declare(f *flag.FlagSet) {
	v.headers.declare(f)
	f.BoolVar(&v.noOpen, "no-open", false, "print the link instead of opening a browser")
}

func (v *inspectCommand) takeCommand(words []string) { v.program = words }

func (v *inspectCommand) run(ctx context.Context, m *Main, operands []string) error {
	server, err := v.server(m, operands)
	if err != nil {
		return err
	}
	h := &hostProcess{inspected: server}
	s := &summary{to: m, lastLines: make(map[string]string)}
	if err := h.open(m, nil, s.onStatus); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	m.onClose(func() { _ = listener.Close() })
	base := httpserver.BaseURL(listener.Addr())
	c := console.New(console.Options{Base: base, Source: &h.console, HostURL: base + "/mcp", Check: h.checkInspected})
	h.questions.inBrowser.Store(c)
	defer c.Close()
	defer context.AfterFunc(ctx, c.Close)()
	defer h.startUpstreams(ctx, func() {})()
	m.Message("LISTEN %s", listener.Addr())
	if err := v.showConsole(ctx, m, c.Link()); err != nil {
		return err
	}
	m.Message("every user and program of this machine can use the server at %s/mcp\nCtrl-C stops it.", base)
	mux := http.NewServeMux()
	mux.Handle("/mcp", httpserver.AsLocalUser(h.gateway.Server().HTTPHandler())) // as the console, so that both have one process
	mux.Handle("/", c)
	if err := h.gateway.Server().ServeListener(ctx, listener, mux); ctx.Err() == nil {
		return err
	}
	return nil
}

// server returns the server of the command line.
func (v *inspectCommand) server(m *Main, operands []string) (*mcpcheck.Target, error) {
	switch {
	case v.program != nil && len(operands) > 0, v.program == nil && len(operands) != 1:
		return nil, usagef("want one server: a URL, or a command after --")
	case v.program != nil && v.headers.given():
		return nil, usagef("found --token or --header with a command, want them with a URL")
	case v.program != nil:
		return m.typedServer(v.program, "", nil)
	}
	return m.typedServer(nil, operands[0], &v.headers)
}

// showConsole opens the console, or prints the link that opens it.
func (v *inspectCommand) showConsole(ctx context.Context, m *Main, link string) error {
	if !v.noOpen {
		err := m.openLink(ctx, link)
		if err == nil {
			m.Info("the browser opens the console")
			return nil
		}
		m.Info("no browser was opened: %s; this link works once, within ten minutes:", terminal.Clean(err.Error()))
	}
	return m.WriteText(link)
}

// inspectedKey is the key of the server that inspect shows.
const inspectedKey = "server"

// openInspected prepares the host for the server that is in no configuration. A sign-in in its console ends with the
// process; without one, the token of an earlier sign-in to its URL is used.
func (h *hostProcess) openInspected(o *gateway.Options) {
	u := host.Upstream{Key: inspectedKey, Target: mcpclient.URL(h.inspected.URL), Transport: "over HTTP", Header: h.inspected.HTTP.Header}
	if h.inspected.Command != nil {
		u.Target, u.Transport = h.inspected.Command, "over stdio"
	}
	h.servers.Use([]host.Upstream{u})
	h.tokens = signin.InMemory(&signin.Options{Logger: h.main.logger()})
	o.Auth = h.tokens.Authorizer
	if earlier, err := h.main.storage().Tokens(); err == nil { // without a directory there are no tokens
		o.Auth = func(u *host.Upstream) mcpclient.Authorizer { return signin.FirstSignedIn(u, h.tokens, earlier) }
	}
	h.questions = h.main.newQuestions(new(mcpserver.MemoryStore), h.recordDecision)
	if h.questions.settings.MayAnswer(true) { // the console is opened with the host
		o.AskPerson = h.questions.calls.AskPerson
	}
}

// checkInspected makes the checks of the check command.
func (h *hostProcess) checkInspected(ctx context.Context, onResult func(console.CheckResult)) error {
	_, err := mcpcheck.Run(ctx, *h.inspected, &mcpcheck.Options{OnResult: func(r mcpcheck.Result) {
		onResult(console.CheckResult{Check: r.Check, Revision: r.Revision, Status: string(r.Status), Text: h.main.secrets.redactKnown(r.Text), Spec: r.Spec})
	}})
	return err
}

// mendingInspected is mendingCommand for the server that is in no configuration.
func (h *hostProcess) mendingInspected(s *host.Status) string {
	m, program := h.main, h.inspected.Command
	switch {
	case s.WaitsForCredentials():
		return m.signInCommand(h.inspected.URL, "")
	case s.State != host.Failed && s.State != host.Suspended:
		return ""
	case program == nil:
		return m.program() + " doctor " + host.ShellQuote(h.inspected.URL)
	}
	command := m.program() + " doctor --"
	for _, word := range append([]string{program.Path}, program.Args...) {
		command += " " + host.ShellQuote(word)
	}
	return command
}
