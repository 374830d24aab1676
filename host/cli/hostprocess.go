package cli

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/engine"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/httpserver"
	"github.com/fondaco/fondaco/host/signin"
	"github.com/fondaco/fondaco/host/storage"
	"github.com/fondaco/fondaco/host/supervisor"
	"github.com/fondaco/fondaco/host/telemetry"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpcheck"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// hostProcess is a host in this process: the gateway with its configuration and stores.
type hostProcess struct {
	main   *Main
	config string // the file that --config names
	yes    bool   // programs are approved without being shown
	calls  bool   // a line is printed for each call
	strict bool   // an error in the configuration is fatal
	only   string // the key of the only upstream to start; empty for all
	// startsNothing is set for commands that only look at the servers, so that their inputs
	// are not needed.
	startsNothing bool
	// inspected is the only server, which is in no configuration; nil if there is a configuration.
	inspected *mcpcheck.Target
	// forgets is set for commands whose approvals hold for themselves alone.
	forgets bool
	keys    []mcpserver.Key // that other hosts have, too; may be empty
	engine  *engine.Engine  // of sessions and their events; nil for memory

	path        string // of the configuration in use; empty for the demonstration
	approvals   *approval.Store
	unapproved  sync.Map // keys of the servers that were refused a start for want of approval when they were to be started last
	state       storage.State
	definitions *definition.Store
	audit       *audit.Log
	tokens      *signin.TokenStore // nil for the demonstration
	questions   *userQuestions     // nil for the demonstration
	gateway     *gateway.Gateway
	traffic     *traffic.Recorder // the last messages of clients and upstreams
	recordings  recordings
	limits      reachedLimits
	startedAt   time.Time
	servers     *supervisor.Supervisor // of the configuration
	console     consoleSource
	telemetry   *telemetry.Telemetry    // nil for none
	revoked     *httpserver.Revocations // nil without a directory for state, and in a host for one command
}

func (h *hostProcess) declare(f *flag.FlagSet) {
	f.StringVar(&h.config, "config", "", "run the servers of `FILE`; else fondaco/mcp.json, or a demo")
	f.BoolVar(&h.strict, "strict", false, "run nothing if the configuration has an error")
	f.BoolVar(&h.yes, "yes", false, "approve every server of the configuration as it is")
	f.BoolVar(&h.calls, "calls", false, "print a line for each call")
}

// oneServerWait is how long a command waits for the server that it names. The limit of the start ends
// before: a command that does not wait for it ends the start, and the next one begins it anew.
const oneServerWait = time.Hour

// open reads the configuration and creates the gateway. Nothing is started yet.
func (h *hostProcess) open(m *Main, web *mcpserver.HTTPOptions, onStatus func(host.Status)) error {
	h.findConfig(m)
	wire, err := m.wireLog()
	if err != nil {
		return err
	}
	h.traffic, h.startedAt = traffic.New(), time.Now()
	h.recordings.handshakes = traffic.NewHandshakes()
	h.console.host = h
	m.onClose(h.console.close)
	logged := func(s host.Status) {
		h.console.logStatus(s)
		if h.questions != nil {
			h.questions.signIns.note(&s, h.mendingCommand(&s))
		}
		if onStatus != nil {
			onStatus(s)
		}
	}
	o := &gateway.Options{OnStatus: logged, OnStderr: h.console.logStderr, Keys: h.keys, HTTP: web, OnMessage: h.onMessage(wire), OnLimit: h.limits.note, Logger: m.logger()}
	if h.telemetry != nil {
		o.ServerOptions, o.ClientOptions = h.telemetry.Server, h.telemetry.Client
	}
	if h.only != "" {
		o.StartTimeout = oneServerWait
	}
	if err := h.useEngine(o); err != nil {
		return err
	}
	switch {
	case h.inspected != nil:
		h.openInspected(o)
	case h.path == "":
		m.reportClientConfigs()
		demonstration := m.demonstration()
		if err := m.checkDemonstration(&demonstration); err != nil {
			return err
		}
		h.servers.Use([]host.Upstream{demonstration})
	default:
		if err := h.openStores(o); err != nil {
			return err
		}
	}
	h.checkYes()
	o.OnDecision = h.recordDecision
	h.gateway = gateway.New(h.servers.Servers(), o)
	h.servers.SetGateway(h.gateway)
	m.onClose(h.gateway.Close)
	if err := h.observe(); err != nil {
		return err
	}
	running := h.gateway.Running
	m.running.Store(&running)
	return nil
}

// checkYes ignores --yes while another host shows questions to the user: a command must not
// approve then what the user has not seen.
func (h *hostProcess) checkYes() {
	if !h.yes || h.questions == nil {
		return
	}
	showing, err := h.questions.watchers.List(context.Background())
	switch {
	case err != nil:
		h.main.Message("--yes has no effect: %s", terminal.Clean(err.Error()))
	case len(showing) > 0:
		h.main.Message("--yes has no effect, because the host with process ID %d can ask you; %s approve asks for the code that it shows", showing[0].PID, h.main.program())
	default:
		return
	}
	h.yes = false
}

// approvesAll reports whether --yes has an effect now. It has none while another host shows
// questions to the user, also one that was started later.
func (h *hostProcess) approvesAll(ctx context.Context) bool {
	if !h.yes || h.questions == nil || h.questions.shows() {
		return h.yes
	}
	showing, err := h.questions.watchers.List(ctx)
	return err == nil && len(showing) == 0
}

// findConfig sets the path of the configuration.
func (h *hostProcess) findConfig(m *Main) {
	if path, err := filepath.Abs(h.config); h.config != "" && err == nil {
		h.config = path // absolute, because other processes use it
	}
	h.main, h.path = m, h.config
	if h.path == "" && h.inspected == nil {
		h.path = config.Find(m.Getenv)
	}
	h.servers = supervisor.New(supervisor.Options{
		Path: h.path, Only: h.only, Read: h.readConfig, Decisions: userDecisions{h}, Message: m.Message,
		Policy: m.policy, PolicyPath: policyPlace.String(), PolicyVersion: m.policyVersion, ReadPolicy: readPolicy,
		OnRead:     func(servers []host.Upstream) { h.audit.Hide(m.secrets.configure(servers)) },
		OnReplaced: h.forgetSignIns,
		OnDenied:   h.recordDenials,
	})
}

// useEngine makes the gateway keep sessions and their events in the store of the host, if there is one.
func (h *hostProcess) useEngine(o *gateway.Options) (err error) {
	if h.engine == nil {
		return nil
	}
	if o.Store, err = h.engine.Part("server"); err != nil {
		return err
	}
	if o.HTTP == nil {
		o.HTTP = new(mcpserver.HTTPOptions)
	}
	o.Bus, o.HTTP.Events = h.engine.Bus, h.engine.Events
	return nil
}

// openForApproval is open for a command that starts nothing, or starts servers for itself alone.
func (h *hostProcess) openForApproval(m *Main) error {
	if h.findConfig(m); h.path == "" {
		return usagef("there is no configuration; --config names one")
	}
	h.startsNothing = !h.forgets
	return h.openStores(new(gateway.Options))
}

// openStores reads the configuration, and opens approvals, audit log and token store.
func (h *hostProcess) openStores(o *gateway.Options) (err error) {
	if err := h.servers.Load(); err != nil {
		return &codedError{exitUsage, err}
	}
	if err := h.refuseDenied(); err != nil {
		return err
	}
	return h.openUserStores(o)
}

// openUserStores opens approvals, audit log and token store for the upstreams of the configuration.
func (h *hostProcess) openUserStores(o *gateway.Options) (err error) {
	if h.state, err = h.main.storage().State(); err != nil {
		return err
	}
	var approved mcp.Store = h.state
	if h.forgets {
		approved = new(mcpserver.MemoryStore)
	}
	if h.approvals, err = h.main.newApprovals(approved, h.recordCarryOver); err != nil {
		return err
	}
	h.definitions = definition.New(approved, &definition.Options{Secrets: h.secrets})
	var settings host.AuditSettings
	if h.audit, settings, err = h.main.storage().OpenAudit(); err != nil {
		return err
	}
	h.main.recordDecision = h.audit.Write
	h.recordDenials()
	o.RecordFirst = settings.First || settings.RequireSyslog
	h.audit.Hide(h.main.secrets.configure(h.servers.Servers()))
	if h.tokens, err = h.main.storage().Tokens(); err != nil {
		return err
	}
	if h.questions, err = h.main.openQuestions(h.recordDecision); err != nil {
		return err
	}
	o.Admit, o.FilterDefinitions, o.Auth = h.servers.Admit, h.filterDefinitions, h.tokens.Authorizer
	o.AdmitRoots, o.MissingScopes = h.approvals.AdmitRoots, h.tokens.MissingScopes
	o.Consent, o.ClientMayConsent = h.questions.calls.Consent, h.questions.clientMayConsent
	if h.questions.answersServers() {
		o.AskPerson = h.questions.calls.AskPerson
	}
	return nil
}

// openRevocations reads what the user has revoked. It returns nil if no client needs credentials and the user has no
// directory for state.
func (h *hostProcess) openRevocations(ctx context.Context, required bool) (*httpserver.Revocations, error) {
	store, err := h.main.storage().State()
	if err != nil && !required {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return httpserver.OpenRevocations(ctx, store, h.gateway, h.main.logger())
}

// forgetSignIns forgets which servers wait for a sign-in, without those that run, and the sign-ins in the console at servers
// that the configuration no longer has.
func (h *hostProcess) forgetSignIns(running []host.Upstream) {
	h.console.keepSignIns(h.servers.Servers()) // also one that is being restarted or is off
	if h.questions != nil {
		h.questions.signIns.forgetOthers(running)
	}
}

// startQuestions shows questions to the user until stop is called. Commands reach the host at
// the socket, which may be empty.
func (h *hostProcess) startQuestions(ctx context.Context, socket string) (stop func()) {
	if h.questions == nil {
		return func() {}
	}
	hide := h.questions.start(ctx, socket)
	if socket == "" { // a command, which ends soon
		return hide
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { h.questions.removeExpired(ctx) })
	return func() {
		cancel()
		work.Wait()
		hide()
	}
}

// askForApprovals makes the terminal ask from now on for the approvals that are needed.
func (h *hostProcess) askForApprovals() {
	if h.questions != nil && h.questions.approvals != nil {
		h.questions.approvals.ready.Store(true)
	}
}

// asksHere reports whether the user is asked on the terminal of this process for the definitions
// that wait.
func (h *hostProcess) asksHere() bool {
	if h.questions == nil || !h.main.Interactive {
		return false
	}
	if h.questions.approvals != nil {
		return h.questions.terminal.Load()
	}
	return !h.yes
}

// readConfig reads the servers of the configuration file. One that runs already is read strictly, and asks nothing.
func (h *hostProcess) readConfig(again bool) ([]host.Upstream, error) {
	strict, ask := h.strict, h.main.inputFunc()
	switch {
	case again:
		strict, ask = true, h.main.rememberedInput
	case h.startsNothing:
		ask = placeholder
	}
	c, err := h.main.loadConfig(h.path, strict, ask)
	if err != nil {
		return nil, err
	}
	return c.Upstreams, nil
}

// recordDecision writes a decision to the audit log. It prints withheld definitions and
// findings and, with --calls, calls.
func (h *hostProcess) recordDecision(d host.Decision) error {
	h.console.calls.Record(&d)
	if h.telemetry != nil {
		h.telemetry.Decide(d)
	}
	if h.audit != nil {
		if err := h.audit.Write(d); err != nil {
			return err
		}
	}
	switch {
	case d.Action != host.ActionOffer:
	case d.Outcome == host.OutcomeWithheld && h.asksHere():
	case d.Outcome == host.OutcomeWithheld:
		h.main.PeerMessage("  waiting    %s: %s; %s", d.Upstream, terminal.CleanLine(d.Reason), h.main.approveCommand(d.Upstream, h.config))
	default:
		h.main.PeerMessage("  warning    %s: %s", d.Upstream, terminal.CleanLine(d.Reason))
	}
	if h.calls && d.Principal != "" && d.Outcome != host.OutcomeBegun {
		h.main.PeerMessage("  %-8s   %s/%s   %s   %d ms", d.Action, d.Upstream, terminal.CleanLine(d.Name), d.Outcome, d.Duration.Milliseconds())
	}
	return nil
}

// secrets returns the secrets in the configuration and those of references that were expanded.
func (h *hostProcess) secrets() []string { return h.main.secrets.all() }

// startUpstreams starts the upstreams, and calls started when each of them is ready or has
// failed, at the latest after the start timeout. The function that it returns waits for
// started.
func (h *hostProcess) startUpstreams(ctx context.Context, started func()) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if h.gateway.Start(ctx); ctx.Err() == nil {
			started()
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// startWatching watches the files of the host until stop is called. SIGHUP reloads the
// configuration if there is no terminal; otherwise it means that the terminal has closed,
// and ends the host.
func (h *hostProcess) startWatching(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	reload, ended := make(chan os.Signal, 1), make(chan struct{})
	if !h.main.Interactive {
		signal.Notify(reload, syscall.SIGHUP)
	}
	go func() {
		defer close(ended)
		h.servers.Watch(ctx, reload)
	}()
	return func() {
		signal.Stop(reload)
		cancel()
		<-ended
	}
}
