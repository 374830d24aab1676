package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/signin"
	"github.com/fondaco/fondaco/mcp/mcpclient"
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

	path          string      // of the configuration in use; empty for the demonstration
	configVersion fileVersion // of the file when it was last read
	approvals     *consent.Store
	audit         *audit.Log
	tokens        *signin.TokenStore // nil for the demonstration
	gateway       *gateway.Gateway

	mu        sync.Mutex
	upstreams []host.Upstream // guarded by mu
}

func (h *hostProcess) declare(f *flag.FlagSet) {
	f.StringVar(&h.config, "config", "", "run the servers of `FILE`")
	f.BoolVar(&h.strict, "strict", false, "run nothing if the configuration has an error")
	f.BoolVar(&h.yes, "yes", false, "approve every program of the configuration as it is")
	f.BoolVar(&h.calls, "calls", false, "print a line for each call")
}

// open reads the configuration and creates the gateway. Nothing is started yet.
func (h *hostProcess) open(m *Main, web *mcpserver.HTTPOptions, onStatus func(host.Status)) error {
	h.findConfig(m)
	o := &gateway.Options{OnStatus: onStatus, HTTP: web, Logger: m.logger()}
	if h.path == "" {
		m.reportClientConfigs()
		h.upstreams = []host.Upstream{m.demonstration()}
	} else if err := h.openStores(o); err != nil {
		return err
	}
	o.OnDecision = h.recordDecision
	h.gateway = gateway.New(h.upstreams, o)
	m.onClose(h.gateway.Close)
	return nil
}

// findConfig sets the path of the configuration.
func (h *hostProcess) findConfig(m *Main) {
	if path, err := filepath.Abs(h.config); h.config != "" && err == nil {
		h.config = path // absolute, because other processes use it
	}
	h.main, h.path = m, h.config
	if h.path == "" {
		h.path = config.Find(m.getenv)
	}
}

// openForApproval is open for a command that starts nothing.
func (h *hostProcess) openForApproval(m *Main) error {
	if h.findConfig(m); h.path == "" {
		return usagef("there is no configuration; --config names one")
	}
	return h.openStores(new(gateway.Options))
}

// openStores reads the configuration, and opens approvals, audit log and token store.
func (h *hostProcess) openStores(o *gateway.Options) (err error) {
	h.configVersion = fileVersionOf(h.path) // before the file is read, so that no change is missed
	if h.upstreams, err = h.load(h.strict, h.main.inputFunc()); err != nil {
		return &codedError{exitUsage, err}
	}
	state, err := stateDir(h.main.getenv)
	if err != nil {
		return err
	}
	if h.approvals, err = consent.Open(filepath.Join(state, "approvals")); err != nil {
		return err
	}
	if h.audit, err = audit.Open(filepath.Join(state, "audit.jsonl"), nil); err != nil {
		return err
	}
	h.main.onClose(func() { _ = h.audit.Close() })
	h.audit.Hide(secretsOf(h.upstreams))
	if h.tokens, err = h.main.tokenStore(); err != nil {
		return err
	}
	o.Admit, o.FilterTools, o.Auth = h.admit, h.approvals.FilterTools, h.tokens.Authorizer
	return nil
}

// load reads the configuration file.
func (h *hostProcess) load(strict bool, ask inputFunc) ([]host.Upstream, error) {
	c, err := h.main.loadConfig(h.path, strict, ask)
	if err != nil {
		return nil, err
	}
	return h.selected(c.Upstreams), nil
}

// selected returns the upstream with the key of only, or all if there is none, so that
// the error can list them.
func (h *hostProcess) selected(all []host.Upstream) []host.Upstream {
	i := slices.IndexFunc(all, func(u host.Upstream) bool { return u.Key == h.only })
	if i < 0 {
		return all
	}
	return all[i : i+1]
}

// reload applies the current content of the file. If that has errors, nothing changes.
func (h *hostProcess) reload() error {
	if h.path == "" {
		return errors.New("the demonstration has no configuration")
	}
	upstreams, err := h.load(true, h.main.rememberedInput)
	if err != nil {
		h.main.message("configuration: %s\n  the running servers are unchanged", clean(err.Error()))
		return err
	}
	h.audit.Hide(secretsOf(upstreams))
	h.mu.Lock()
	h.upstreams = upstreams
	h.mu.Unlock()
	h.gateway.Reload(upstreams)
	h.main.message("configuration: reloaded")
	return nil
}

// admit returns the target of an upstream if its program is approved.
func (h *hostProcess) admit(u *host.Upstream) (mcpclient.Target, error) {
	target, err := h.approvals.Admit(u)
	if !h.yes || !errors.Is(err, host.ErrNeedsApproval) {
		return target, err
	}
	p, _, err := h.approvals.ProgramOf(u)
	if err == nil {
		err = h.approve(u, p, "by --yes")
	}
	if err != nil {
		return nil, err
	}
	return h.approvals.Admit(u)
}

// approve stores and records an approval.
func (h *hostProcess) approve(u *host.Upstream, p consent.Program, by string) error {
	err := h.approvals.Approve(u, p)
	if err == nil {
		h.recordDecision(host.Decision{
			Time: time.Now(), Upstream: u.Key, Action: host.ActionApprove, Name: p.File, Outcome: host.OutcomeDone, Reason: by,
		})
	}
	return err
}

// recordDecision writes a decision to the audit log. It prints withheld tools and, with
// --calls, calls.
func (h *hostProcess) recordDecision(d host.Decision) {
	if h.audit != nil {
		if err := h.audit.Write(d); err != nil {
			h.main.logger().Error("audit log: cannot write a decision", "error", err)
		}
	}
	if d.Action == host.ActionOffer && d.Outcome == host.OutcomeWithheld {
		name := d.Upstream + "/" + cleanLine(d.Name)
		h.main.message("  changed    %s is withheld: %s; %s", name, cleanLine(d.Reason), h.main.approveCommand(name, h.config))
	}
	if h.calls && d.Principal != "" {
		h.main.message("  %-8s   %s/%s   %s   %d ms", d.Action, d.Upstream, cleanLine(d.Name), d.Outcome, d.Duration.Milliseconds())
	}
}

// secretsOf returns the secrets in the configuration of upstreams.
func secretsOf(upstreams []host.Upstream) (secrets []string) {
	for _, u := range upstreams {
		for _, values := range u.Header {
			secrets = append(secrets, values...)
		}
		if secret := u.SignIn.ClientSecret; secret != "" {
			secrets = append(secrets, secret.Reveal())
		}
		if t, ok := u.Target.(*mcpclient.CommandTarget); ok {
			for _, value := range t.Env {
				secrets = append(secrets, value)
			}
		}
	}
	return secrets
}

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
		h.watchFiles(ctx, reload)
	}()
	return func() {
		signal.Stop(reload)
		cancel()
		<-ended
	}
}

// watchInterval is how often the files are checked.
const watchInterval = 500 * time.Millisecond

// watchFiles reloads the configuration when the file changes or reload receives, and
// retries upstreams after approvals and sign-ins, until ctx is done.
func (h *hostProcess) watchFiles(ctx context.Context, reload <-chan os.Signal) {
	if h.path == "" {
		return
	}
	configured, approved, signedIn := h.configVersion, h.approvals.ModTime(), h.tokens.ModTime()
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-reload:
			configured = fileVersionOf(h.path)
			_ = h.reload() // it prints its error
		case <-tick.C:
			if now := fileVersionOf(h.path); now != configured {
				configured = now
				_ = h.reload()
			}
			if now := h.approvals.ModTime(); now != approved {
				approved = now
				h.retryBlocked()
			}
			if now := h.tokens.ModTime(); now != signedIn {
				signedIn = now
				h.retryBlocked()
			}
		}
	}
}

// retryBlocked retries the upstreams that need an approval or a sign-in.
func (h *hostProcess) retryBlocked() {
	for _, s := range h.gateway.Status() {
		if s.State == host.NeedsApproval || s.State == host.NeedsSignIn || len(s.Withheld) > 0 {
			h.gateway.Retry(s.Key)
		}
	}
}

// stateDir returns the directory for state of the user: that of the XDG Base Directory
// Specification, or of Windows.
func stateDir(env config.Env) (string, error) {
	for _, place := range []struct{ variable, below string }{
		{"XDG_STATE_HOME", ""}, {"LOCALAPPDATA", ""}, {"HOME", filepath.Join(".local", "state")}, {"USERPROFILE", filepath.Join(".local", "state")},
	} {
		if dir, _ := env(place.variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, place.below, "fondaco"), nil
		}
	}
	return "", fmt.Errorf("no directory for approvals: set $HOME or $XDG_STATE_HOME")
}
