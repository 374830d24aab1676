package gateway

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// upstream is one server, and the lines to it. The line of the house tells what
// the server has. It serves calls only when callers share it; otherwise each of
// them has a line of its own, see callers.go.
type upstream struct {
	host.Upstream
	gateway *Gateway
	log     *slog.Logger
	auth    mcpclient.Authorizer // or nil
	house   *line
	stderr  tail
	watches watches
	visits  visits

	// Lifetime.
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	told   host.Status // that OnStatus has heard last; the house's goroutine alone uses it

	mu      sync.Mutex // guards the fields below
	callers map[caller]*line
	vacancy chan struct{} // closed when a call that has a line for itself ends
	awaited time.Time     // until then lists wait for its start
	closed  bool
	catalog *catalog     // never nil, and not changed once it is here
	known   bool         // the catalog was read
	absent  bool         // what it holds is not offered for now
	refused []string     // what of it cannot be offered, and why
	offered []mcp.Tool   // as clients see them
	speaks  mcp.Revision // that was spoken last
	failed  bool         // a connection was not made
}

func newUpstream(g *Gateway, u host.Upstream) *upstream {
	up := &upstream{
		Upstream: u,
		gateway:  g,
		log:      g.options.logger().With("upstream", u.Key),
		callers:  make(map[caller]*line),
		vacancy:  make(chan struct{}),
		catalog:  new(catalog),
	}
	up.auth = g.options.auth(&up.Upstream)
	if !u.Settings.Lazy { // clients may come before Start does
		up.awaited = time.Now().Add(g.options.startTimeout())
	}
	up.ctx, up.cancel = context.WithCancel(g.ctx)
	up.house = newLine(lineParams{
		connect: up.connectHouse,
		prepare: up.refresh,
		kept:    true,
		lazy:    u.Settings.Lazy,
		idle:    u.Settings.Idle,
		tell:    up.tell,
		log:     up.log,
	})
	return up
}

// start begins to make the line of the house.
func (u *upstream) start() {
	u.mu.Lock()
	if !u.Settings.Lazy {
		u.awaited = time.Now().Add(u.gateway.options.startTimeout())
	}
	u.mu.Unlock()
	u.work.Go(func() { u.house.run(u.ctx) })
}

// retry makes the lines at once that have failed, or wait for the user, or are about
// to: what it is that an attempt under way has run into may be gone by now.
func (u *upstream) retry() {
	u.mu.Lock()
	lines := append(slices.Collect(maps.Values(u.callers)), u.house)
	u.mu.Unlock()
	for _, l := range lines {
		if state, _ := l.current(); state != host.Ready && state != host.Idle {
			l.start()
		}
	}
}

// close ends all lines, and returns when nothing of the upstream runs any more.
func (u *upstream) close() {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	u.cancel()
	u.work.Wait()
}

func (u *upstream) connectHouse(ctx context.Context, l *line) (*mcpclient.Client, error) {
	changed := func(context.Context, *mcpclient.Client) { l.touch() }
	o := u.clientOptions(l)
	o.OnToolsChanged, o.OnPromptsChanged, o.OnResourcesChanged = changed, changed, changed
	return u.connect(ctx, o)
}

// longest is how long a call may take, with all that its caller is asked.
const longest = time.Hour

// clientOptions declare no capabilities: those are the caller's that a line is
// for. Calls have no timeout of their own: the caller decides how long it waits.
// What was lost is made again by the line.
func (u *upstream) clientOptions(l *line) *mcpclient.Options {
	u.mu.Lock()
	defer u.mu.Unlock()
	return &mcpclient.Options{
		Info:           mcp.Implementation{Name: "fondaco", Title: "Fondaco", Version: host.Version},
		Header:         u.Header,
		Auth:           u.auth,
		OnEvent:        l.heard,
		OnNotification: u.noticed,
		Remembered:     u.spoken(),
		Timeout:        -1,
		MaxTimeout:     longest,
		NoRestart:      true,
		Logger:         u.log,
	}
}

// spoken returns what the server spoke last. Of one that has never come to speak it
// is taken for granted that it knows sessions: to look for more would start a program
// that does not run twice each time, and a server that knows no sessions says so. The
// caller holds mu.
func (u *upstream) spoken() mcp.Revision {
	if u.speaks.IsZero() && u.failed {
		return mcp.V20251125
	}
	return u.speaks
}

// connect starts the server, if it is a program that may be started, and connects
// to it.
func (u *upstream) connect(ctx context.Context, o *mcpclient.Options) (*mcpclient.Client, error) {
	d := host.Decision{Time: time.Now(), Upstream: u.Key, Action: host.ActionStart}
	target, err := u.gateway.options.admit(&u.Upstream)
	var c *mcpclient.Client
	if err == nil {
		c, err = mcpclient.Connect(ctx, u.listeningTo(target), o)
	}
	switch {
	case err == nil:
		d.Outcome = host.OutcomeDone
		u.mu.Lock()
		u.speaks = c.Revision()
		u.mu.Unlock()
	case errors.Is(err, host.ErrNeedsApproval):
		d.Outcome = host.OutcomeWithheld
		u.gateway.record(d, nil) // the reason is the command, whose arguments are nobody else's business
		return nil, err
	case errors.Is(err, mcpauth.ErrSignInRequired): // which tells nothing of what it speaks
		d.Outcome = host.OutcomeFailed
	default:
		d.Outcome = host.OutcomeFailed
		u.mu.Lock()
		u.failed = true
		u.mu.Unlock()
	}
	u.gateway.record(d, err)
	return c, err
}

// listeningTo has the standard error of a program kept.
func (u *upstream) listeningTo(t mcpclient.Target) mcpclient.Target {
	program, ok := t.(*mcpclient.CommandTarget)
	if !ok || program.Stderr != nil {
		return t
	}
	heard := *program
	heard.Stderr = u.stderr.add
	return &heard
}

// refresh reads the lists of the upstream and offers what they hold.
func (u *upstream) refresh(ctx context.Context, client *mcpclient.Client) error {
	cat, err := list(ctx, client)
	if err != nil {
		return err
	}
	if err := u.gateway.options.screen(&u.Upstream, cat); err != nil {
		return err
	}
	u.mu.Lock()
	before := u.catalog
	u.catalog, u.known, u.speaks = cat, true, client.Revision()
	u.mu.Unlock()
	u.recordWithheld(before)
	u.gateway.merge()
	return nil
}

// screen looks again at what was read last, with what is approved now.
func (u *upstream) screen() {
	before := u.listed()
	now := *before
	if err := u.gateway.options.screen(&u.Upstream, &now); err != nil {
		u.log.Error("tools cannot be compared with what was approved", "error", err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.catalog == before { // else a refresh was faster, and has screened its own
		u.catalog = &now
	}
}

// recordWithheld records the tools that are withheld and were not before.
func (u *upstream) recordWithheld(before *catalog) {
	for _, w := range u.listed().withheld {
		if !slices.ContainsFunc(before.withheld, func(b host.Withheld) bool { return b.Tool == w.Tool }) {
			u.gateway.record(host.Decision{
				Time: time.Now(), Upstream: u.Key, Action: host.ActionOffer, Name: w.Tool, Outcome: host.OutcomeWithheld,
			}, errChanged)
		}
	}
}

var errChanged = errors.New("the definition has changed since it was approved")

// listed returns what the upstream has listed last.
func (u *upstream) listed() *catalog {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.catalog
}

// present returns what of it is there for clients: nothing while there is no
// hope that it works.
func (u *upstream) present() *catalog {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.absent {
		return new(catalog)
	}
	return u.catalog
}

// merged notes what has become of the catalog.
func (u *upstream) merged(now *offers, refused []string) {
	var offered []mcp.Tool
	for _, t := range u.present().kept {
		if o, ok := now.tools[host.WireName(u.Key, t.Name)]; ok && o.from == u && o.name == t.Name {
			offered = append(offered, o.def)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refused, u.offered = refused, offered
}

func (u *upstream) tools() []mcp.Tool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.offered
}

// tell tells whoever wants to know of a change of state; attempts to start are
// none. What the upstream has leaves the lists when it is parked or must not
// start, and comes back with it.
func (u *upstream) tell() {
	s := u.describe()
	if u.ctx.Err() != nil { // that it ends is news to nobody
		return
	}
	if s.State == host.Starting || s.State == u.told.State && s.Reason == u.told.Reason {
		return
	}
	u.told = s
	absent := slices.Contains([]host.State{host.Parked, host.NeedsApproval, host.NeedsSignIn}, s.State)
	u.mu.Lock()
	turned := u.absent != absent
	u.absent = absent
	u.mu.Unlock()
	if turned {
		u.gateway.merge()
	}
	u.gateway.options.tell(s)
}

func (u *upstream) describe() host.Status {
	s := host.Status{Key: u.Key, Reached: u.Reached, Stderr: u.stderr.all()}
	u.house.describe(&s)
	u.mu.Lock()
	defer u.mu.Unlock()
	s.Revision = u.speaks
	s.Omitted = slices.Concat(u.catalog.omitted, u.refused)
	s.Withheld = slices.Clone(u.catalog.withheld)
	for i := range u.catalog.tools {
		if t := &u.catalog.tools[i]; u.Settings.Rules.Verdict(t) == host.Deny {
			s.Denied = append(s.Denied, t.Name)
		}
	}
	s.Tools, s.Prompts = len(u.catalog.tools), len(u.catalog.prompts)
	s.Resources, s.Templates = len(u.catalog.resources), len(u.catalog.templates)
	s.Callers = len(u.callers)
	return s
}
