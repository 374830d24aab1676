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

// hosting is a host that runs: the gateway, and what the user has to say of it.
type hosting struct {
	main   *Main
	config string // the file that the user named
	yes    bool   // programs are approved without being shown
	calls  bool   // a line is printed for each call
	strict bool   // nothing is run if the configuration has a mistake
	only   string // the key of the one upstream that is wanted; empty for all

	path       string // of the configuration that is used; empty for the demonstration
	configured stamp  // of the file as it was read at first
	book       *consent.Store
	audit      *audit.Log
	wallet     *signin.TokenStore // nil for the demonstration
	gateway    *gateway.Gateway

	mu        sync.Mutex
	upstreams []host.Upstream // guarded by mu
}

func (h *hosting) declare(f *flag.FlagSet) {
	f.StringVar(&h.config, "config", "", "run the servers of `FILE`")
	f.BoolVar(&h.strict, "strict", false, "run nothing if the configuration has a mistake")
	f.BoolVar(&h.yes, "yes", false, "approve every program of the configuration as it is")
	f.BoolVar(&h.calls, "calls", false, "print a line for each call")
}

// open reads the configuration and makes the gateway. Nothing is started yet.
func (h *hosting) open(m *Main, web *mcpserver.HTTPOptions, news func(host.Status)) error {
	h.find(m)
	o := &gateway.Options{OnStatus: news, HTTP: web, Logger: m.logger()}
	if h.path == "" {
		m.nameForeign()
		h.upstreams = []host.Upstream{m.demonstration()}
	} else if err := h.keep(o); err != nil {
		return err
	}
	o.OnDecision = h.decided
	h.gateway = gateway.New(h.upstreams, o)
	m.closing(h.gateway.Close)
	return nil
}

// find finds the configuration.
func (h *hosting) find(m *Main) {
	if path, err := filepath.Abs(h.config); h.config != "" && err == nil {
		h.config = path // other programs are told of it
	}
	h.main, h.path = m, h.config
	if h.path == "" {
		h.path = config.Find(m.lookup)
	}
}

// openBook is open for somebody who wants to approve and starts nothing.
func (h *hosting) openBook(m *Main) error {
	if h.find(m); h.path == "" {
		return usagef("there is no configuration; --config names one")
	}
	return h.keep(new(gateway.Options))
}

// keep reads the configuration, and opens what is kept of its servers: what was
// approved, and what became of it.
func (h *hosting) keep(o *gateway.Options) (err error) {
	h.configured = stampOf(h.path) // before it is read, so that no change of it is missed
	if h.upstreams, err = h.load(h.strict, h.main.asker()); err != nil {
		return &codedError{exitUsage, err}
	}
	state, err := stateDir(h.main.lookup)
	if err != nil {
		return err
	}
	if h.book, err = consent.Open(filepath.Join(state, "approvals")); err != nil {
		return err
	}
	if h.audit, err = audit.Open(filepath.Join(state, "audit.jsonl"), nil); err != nil {
		return err
	}
	h.main.closing(func() { _ = h.audit.Close() })
	h.audit.Hide(secretsOf(h.upstreams))
	if h.wallet, err = h.main.wallet(); err != nil {
		return err
	}
	o.Admit, o.FilterTools, o.Auth = h.admit, h.book.FilterTools, h.wallet.Authorizer
	return nil
}

// load reads the file.
func (h *hosting) load(strict bool, ask asker) ([]host.Upstream, error) {
	c, err := h.main.loadConfig(h.path, strict, ask)
	if err != nil {
		return nil, err
	}
	return h.wanted(c.Upstreams), nil
}

// wanted returns the upstream that alone is wanted, or all when there is none of
// that key, so that the user sees what there is.
func (h *hosting) wanted(all []host.Upstream) []host.Upstream {
	i := slices.IndexFunc(all, func(u host.Upstream) bool { return u.Key == h.only })
	if i < 0 {
		return all
	}
	return all[i : i+1]
}

// reload makes the host run what the file says now. A file with mistakes changes
// nothing.
func (h *hosting) reload() error {
	if h.path == "" {
		return errors.New("the demonstration has no configuration")
	}
	upstreams, err := h.load(true, h.main.rememberInput)
	if err != nil {
		h.main.say("configuration: %s\n  what was running goes on", clean(err.Error()))
		return err
	}
	h.audit.Hide(secretsOf(upstreams))
	h.mu.Lock()
	h.upstreams = upstreams
	h.mu.Unlock()
	h.gateway.Reload(upstreams)
	h.main.say("configuration: read again")
	return nil
}

// admit lets a program start that was approved.
func (h *hosting) admit(u *host.Upstream) (mcpclient.Target, error) {
	target, err := h.book.Admit(u)
	if !h.yes || !errors.Is(err, host.ErrNeedsApproval) {
		return target, err
	}
	p, _, err := h.book.ProgramOf(u)
	if err == nil {
		err = h.approve(u, p, "by --yes")
	}
	if err != nil {
		return nil, err
	}
	return h.book.Admit(u)
}

// approve lets a program be started, and records who has said so.
func (h *hosting) approve(u *host.Upstream, p consent.Program, by string) error {
	err := h.book.Approve(u, p)
	if err == nil {
		h.decided(host.Decision{
			Time: time.Now(), Upstream: u.Key, Action: host.ActionApprove, Name: p.File, Outcome: host.OutcomeDone, Reason: by,
		})
	}
	return err
}

// decided records what became of a start or a call. It tells of a tool that has
// changed, and of calls if that was asked for.
func (h *hosting) decided(d host.Decision) {
	if h.audit != nil {
		if err := h.audit.Write(d); err != nil {
			h.main.logger().Error("a decision was not recorded", "error", err)
		}
	}
	if d.Action == host.ActionOffer && d.Outcome == host.OutcomeWithheld {
		name := d.Upstream + "/" + cleanLine(d.Name)
		h.main.say("  changed    %s is withheld: %s; %s", name, cleanLine(d.Reason), h.main.approval(name, h.config))
	}
	if h.calls && d.Principal != "" {
		h.main.say("  %-8s   %s/%s   %s   %d ms", d.Action, d.Upstream, cleanLine(d.Name), d.Outcome, d.Duration.Milliseconds())
	}
}

// secretsOf returns the values that upstreams are given for themselves.
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

// followApart follows the files of the host until it is ended. SIGHUP asks a host
// that has no terminal to read its configuration again; with a terminal it means
// that this is gone, and ends the host as ever.
func (h *hosting) followApart(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	reload, ended := make(chan os.Signal, 1), make(chan struct{})
	if !h.main.Interactive {
		signal.Notify(reload, syscall.SIGHUP)
	}
	go func() {
		defer close(ended)
		h.follow(ctx, reload)
	}()
	return func() {
		signal.Stop(reload)
		cancel()
		<-ended
	}
}

// watchInterval is how often the host looks for changes of its files.
const watchInterval = 500 * time.Millisecond

// follow reloads the configuration when the file changes or reload comes, and
// looks again at what was approved and who has signed in, until ctx is done.
func (h *hosting) follow(ctx context.Context, reload <-chan os.Signal) {
	if h.path == "" {
		return
	}
	configured, approved, signedIn := h.configured, h.book.ModTime(), h.wallet.ModTime()
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-reload:
			configured = stampOf(h.path)
			_ = h.reload() // which has told
		case <-tick.C:
			if now := stampOf(h.path); now != configured {
				configured = now
				_ = h.reload()
			}
			if now := h.book.ModTime(); now != approved {
				approved = now
				h.retryBlocked()
			}
			if now := h.wallet.ModTime(); now != signedIn {
				signedIn = now
				h.retryBlocked()
			}
		}
	}
}

// retryBlocked has the upstreams looked at again that wait for an approval or a
// sign-in.
func (h *hosting) retryBlocked() {
	for _, s := range h.gateway.Status() {
		if s.State == host.NeedsApproval || s.State == host.NeedsSignIn || len(s.Withheld) > 0 {
			h.gateway.Retry(s.Key)
		}
	}
}

// stateDir returns the directory for what programs keep of their user: that of
// the XDG Base Directory Specification, or of Windows.
func stateDir(env config.Env) (string, error) {
	for _, place := range []struct{ variable, below string }{
		{"XDG_STATE_HOME", ""}, {"LOCALAPPDATA", ""}, {"HOME", filepath.Join(".local", "state")}, {"USERPROFILE", filepath.Join(".local", "state")},
	} {
		if dir, _ := env(place.variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, place.below, "fondaco"), nil
		}
	}
	return "", fmt.Errorf("there is no place to keep approvals: want $HOME or $XDG_STATE_HOME set")
}
