package gateway

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// upstream is one server and the connections to it. The shared connection lists the
// server's features. It serves calls only if Settings.Share is set; otherwise each caller
// has a connection of its own, see callerconnections.go.
type upstream struct {
	host.Upstream
	gateway          *Gateway
	log              *slog.Logger
	shared           *connection
	stderr           stderrTail
	watches          watches
	elicitedURLs     elicitedURLs
	health           callHealth
	listTTL          listTTL
	unknownNames     unknownNames
	imitations       imitations
	listReads        listReads
	connectionPlaces *mcpserver.OwnerPool // of the connections of callers
	featurePool      *mcpserver.OwnerPool // of the bytes of features that one caller has

	// Lifetime.
	ctx        context.Context
	cancel     context.CancelFunc
	work       sync.WaitGroup
	lastStatus host.Status  // that OnStatus got last; only the goroutine of the shared connection uses it
	initial    initialLists // only the goroutine of the shared connection uses it

	mu                sync.Mutex               // guards the fields below
	callerConnections map[caller][]*connection // the one with the caller's state first; nil where one has ended
	connectionFreed   chan struct{}            // closed when a call leaves its connection
	startDeadline     time.Time                // list requests wait until then for its start
	closed            bool
	catalog           *catalog // never nil; a catalog is not changed after it was set
	catalogRead       bool     // at least once
	capabilityLists   map[callerCapabilities]*capabilityList
	withdrawn         bool                 // its features are not registered for now
	notRegistered     []string             // features that could not be registered, and why
	visibleTools      []mcp.Tool           // as clients see them
	lastRevision      mcp.Revision         // of the last connection
	connectFailed     bool                 // at least once, unless over HTTP
	admitted          *host.Upstream       // for which auth was made, or nil
	auth              mcpclient.Authorizer // or nil
}

func newUpstream(g *Gateway, u host.Upstream) *upstream {
	up := &upstream{
		Upstream:          u,
		gateway:           g,
		log:               g.options.logger().With("upstream", u.Key),
		callerConnections: make(map[caller][]*connection),
		connectionFreed:   make(chan struct{}),
		listReads:         newListReads(),
		connectionPlaces:  mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: maxCallerConnections, Principal: maxCallerConnections, KeepBusy: true}),
		featurePool:       mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: maxCatalog}),
		unknownNames:      newUnknownNames(),
		elicitedURLs:      newElicitedURLs(),
		watches:           watches{pool: mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: maxWatches})},
		catalog:           new(catalog),
	}
	if !u.Settings.Lazy { // requests may arrive before Start
		up.startDeadline = time.Now().Add(g.options.startTimeout())
	}
	up.ctx, up.cancel = context.WithCancel(g.ctx)
	up.shared = newConnection(connectionParams{
		connect:       up.connectShared,
		connectWait:   g.options.startTimeout(),
		readLists:     up.refresh,
		permanent:     true,
		lazy:          u.Settings.Lazy,
		idleTimeout:   u.Settings.Idle,
		onStateChange: up.reportState,
		log:           up.log,
	})
	return up
}

// start starts the shared connection.
func (u *upstream) start() {
	u.mu.Lock()
	if !u.Settings.Lazy {
		u.startDeadline = time.Now().Add(u.gateway.options.startTimeout())
	}
	u.mu.Unlock()
	u.work.Go(func() { u.shared.run(u.ctx) })
}

// retry restarts the connections that have failed or wait for the user, and those that
// are connecting, because what the attempt ran into may be solved by now.
func (u *upstream) retry() {
	u.mu.Lock()
	connections := []*connection{u.shared}
	for _, conn := range u.allCallerConnections() {
		connections = append(connections, conn)
	}
	u.mu.Unlock()
	for _, conn := range connections {
		if state, _ := conn.currentState(); state != host.Ready && state != host.Idle {
			conn.restart()
		}
	}
}

// close closes all connections and waits until nothing of the upstream runs any more.
func (u *upstream) close() {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	u.cancel()
	u.work.Wait()
}

func (u *upstream) connectShared(ctx context.Context, conn *connection) (*mcpclient.Client, error) {
	changed := func(context.Context, *mcpclient.Client) { conn.requestRefresh() }
	o := u.clientOptions(conn)
	o.OnToolsChanged, o.OnPromptsChanged, o.OnResourcesChanged = changed, changed, changed
	client, err := u.connect(ctx, o)
	if err == nil {
		client.Use(u.listTTL.record)
	}
	return client, err
}

// maxCallTime limits a call including the time for questions to its caller.
const maxCallTime = time.Hour

// clientOptions returns options without capabilities; declareCapabilities adds those of a
// caller. Requests have no timeout of their own: the caller decides how long it waits.
// The client does not reconnect, because connection does.
func (u *upstream) clientOptions(conn *connection) *mcpclient.Options {
	u.mu.Lock()
	defer u.mu.Unlock()
	return &mcpclient.Options{
		Info:           mcp.Implementation{Name: "fondaco", Title: "Fondaco", Version: host.Version},
		OnEvent:        u.onEvent(conn),
		OnNotification: u.relayElicitationComplete(conn),
		// Its presence also keeps the client from listing the tools over each connection.
		Prior: &mcpclient.Prior{Revision: u.rememberedRevision()},
		Timeouts: mcpclient.TimeoutOptions{
			Call:    -1,
			MaxCall: maxCallTime,
		},
		NoRestart: true,
		Logger:    u.log,
	}
}

// overHTTP reports whether the upstream is at a URL, where an attempt to connect starts nothing.
func (u *upstream) overHTTP() bool {
	return reflect.TypeOf(u.Target) == reflect.TypeOf(mcpclient.URL(""))
}

// rememberedRevision returns the revision of the last connection. If a program was never
// connected to, it returns the latest session revision: negotiation would start a failing
// program twice each time, and a stateless server rejects the revision with a clear
// error. The caller holds mu.
func (u *upstream) rememberedRevision() mcp.Revision {
	if u.lastRevision.IsZero() && u.connectFailed {
		return mcp.V20251125
	}
	return u.lastRevision
}

// connect starts the server, if it is a program that is approved, and connects to it.
func (u *upstream) connect(ctx context.Context, o *mcpclient.Options) (*mcpclient.Client, error) {
	d := host.Decision{Time: time.Now(), Upstream: u.Key, Action: host.ActionStart}
	admitted, err := u.gateway.options.admit(ctx, &u.Upstream)
	var c *mcpclient.Client
	if err == nil {
		o.HTTP.Header, o.HTTP.Auth = admitted.Header, u.authorizer(admitted)
		c, err = mcpclient.Connect(ctx, u.captureStderr(admitted.Target), o)
		err = hidePrivatePath(err, admitted)
	}
	switch {
	case err == nil:
		d.Outcome = host.OutcomeDone
		u.mu.Lock()
		u.lastRevision = c.Revision()
		u.mu.Unlock()
	case errors.Is(err, host.ErrNeedsApproval):
		d.Outcome = host.OutcomeWithheld
		u.gateway.record(d, nil) // the reason contains the command line, which may hold private arguments
		return nil, err
	case errors.Is(err, mcpauth.ErrSignInRequired): // the revision is still unknown
		d.Outcome = host.OutcomeFailed
	default:
		d.Outcome = host.OutcomeFailed
		if ctx.Err() != context.Canceled { // otherwise nothing is known of the upstream
			u.mu.Lock()
			u.connectFailed = !u.overHTTP()
			u.mu.Unlock()
		}
	}
	u.gateway.record(d, err)
	return c, err
}

// authorizer returns the authorizer of the upstream as it was admitted. All connections
// share it, because it remembers tokens.
func (u *upstream) authorizer(admitted *host.Upstream) mcpclient.Authorizer {
	u.mu.Lock()
	auth, before := u.auth, u.admitted
	u.mu.Unlock()
	if before != nil && before.Equal(admitted) {
		return auth
	}
	auth = u.gateway.options.auth(admitted)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.auth, u.admitted = auth, admitted
	return auth
}

// captureStderr makes a program's target keep the last lines of standard error.
func (u *upstream) captureStderr(t mcpclient.Target) mcpclient.Target {
	program, ok := t.(*mcpclient.CommandTarget)
	if !ok || program.Stderr != nil {
		return t
	}
	captured := *program
	captured.Stderr = u.stderr.add
	return &captured
}

// refresh lists the features of the upstream and registers them.
func (u *upstream) refresh(ctx context.Context, client *mcpclient.Client) error {
	u.listTTL.reset()
	cat, err := readCatalog(ctx, client, new(catalog))
	if err != nil {
		return err
	}
	cat.read = time.Now()
	cat.maxAge, cat.ages = u.listTTL.maxAge(u.Target, client)
	if err := u.filter(ctx, cat, host.Listing{Initial: u.initial.next(cat, u.shared.readsInitialLists())}); err != nil {
		return err
	}
	u.findImitations(cat, u.otherKeys(u.gateway.list()))
	u.mu.Lock()
	before := u.catalog
	cat.generation = before.generation
	if !cat.lists(before) || !u.catalogRead {
		cat.generation++
	}
	u.catalog, u.catalogRead, u.lastRevision = cat, true, client.Revision()
	u.mu.Unlock()
	u.recordFiltered(before.admitted, cat.admitted)
	u.gateway.merge()
	u.imitations.forgetCatalog(before)
	if !cat.lists(before) || !equalDefs(cat.resources, before.resources) {
		u.refreshOwnFeatures()
	}
	return nil
}

// lastCatalog returns the features that were listed last.
func (u *upstream) lastCatalog() *catalog {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.catalog
}

// visibleCatalog returns the features for clients: none while the upstream is withdrawn.
func (u *upstream) visibleCatalog() *catalog {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.withdrawn {
		return new(catalog)
	}
	return u.catalog
}

// isWithdrawn reports whether the features of the upstream are not registered for now.
func (u *upstream) isWithdrawn() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.withdrawn
}

// setMerged stores which features of the upstream are registered after a merge.
func (u *upstream) setMerged(now *mergedCatalog, notRegistered []string) {
	var offered []mcp.Tool
	for _, t := range u.visibleCatalog().admitted.Tools {
		if entry, ok := now.tools[host.WireName(u.Key, t.Name)]; ok && entry.upstream == u && entry.upstreamName == t.Name {
			offered = append(offered, entry.definition)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.notRegistered, u.visibleTools = notRegistered, offered
}

func (u *upstream) tools() []mcp.Tool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.visibleTools
}

// reportState calls OnStatus after a change of state, except for attempts to start. It
// withdraws the features of an upstream that is suspended or must not start, and
// registers them again later.
func (u *upstream) reportState() {
	s := u.status()
	if u.ctx.Err() != nil { // do not report the end of the gateway
		return
	}
	same := s.State == u.lastStatus.State && s.Reason == u.lastStatus.Reason && s.SessionsLost == u.lastStatus.SessionsLost
	if s.State == host.Starting || same {
		return
	}
	u.lastStatus = s
	absent := slices.Contains([]host.State{host.Suspended, host.NeedsApproval, host.NeedsSignIn}, s.State)
	u.mu.Lock()
	changed := u.withdrawn != absent
	u.withdrawn = absent
	u.mu.Unlock()
	if changed {
		u.gateway.merge()
	}
	u.gateway.options.notifyStatus(s)
}

func (u *upstream) status() host.Status {
	s := host.Status{Key: u.Key, Transport: u.Transport, Stderr: u.stderr.all()}
	u.shared.fillStatus(&s)
	u.health.fillStatus(&s)
	u.mu.Lock()
	defer u.mu.Unlock()
	s.Revision = u.lastRevision
	s.Omitted = slices.Concat(u.catalog.omitted, u.catalog.leftOut, u.notRegistered)
	waiting := slices.Concat(u.catalog.admitted.Waiting, u.callerWaiting())
	s.Waiting, s.WaitingCount = waiting[:min(len(waiting), host.MaxWaiting)], len(waiting)
	for i := range u.catalog.tools {
		if t := &u.catalog.tools[i]; u.Settings.Rules.Verdict(t) == host.Deny {
			s.Denied = append(s.Denied, t.Name)
		}
	}
	admitted := &u.catalog.admitted
	s.Tools, s.Prompts = len(admitted.Tools), len(admitted.Prompts)
	s.Resources, s.Templates = len(u.catalog.resources), len(admitted.Templates)
	for range u.allCallerConnections() {
		s.Callers++
	}
	return s
}
