package gateway

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/host/gateway/relay"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// upstream is one server and what the gateway keeps for it.
type upstream struct {
	host.Upstream
	gateway      *Gateway
	log          *slog.Logger
	connector    connector
	pool         *link.Pool
	relay        *relay.Relay
	listTTL      listTTL
	unknownNames unknownNames
	imitations   imitations
	listReads    listReads
	own          ownFeatures

	lastStatus host.Status  // that OnStatus got last; only the goroutine of the shared connection uses it
	initial    initialLists // only the goroutine of the shared connection uses it

	mu              sync.Mutex // guards the fields below
	startDeadline   time.Time  // list requests wait until then for its start
	catalog         *catalog   // never nil; a catalog is not changed after it was set
	catalogRead     bool       // at least once
	capabilityLists map[link.Capabilities]*capabilityList
	withdrawn       bool       // its features are not registered for now
	notRegistered   []string   // features that could not be registered, and why
	visibleTools    []mcp.Tool // as clients see them
}

func newUpstream(g *Gateway, u host.Upstream) *upstream {
	up := &upstream{
		Upstream:     u,
		gateway:      g,
		log:          g.options.logger().With("upstream", u.Key),
		listReads:    newListReads(),
		own:          newOwnFeatures(),
		unknownNames: newUnknownNames(),
		catalog:      new(catalog),
	}
	if !u.Settings.Lazy { // requests may arrive before Start
		up.startDeadline = time.Now().Add(g.options.startTimeout())
	}
	up.connector = connector{upstream: &up.Upstream, options: g.options, record: g.record, log: up.log}
	up.pool = link.NewPool(g.ctx, up.poolParams())
	up.relay = relay.New(relay.Params{
		Upstream: &up.Upstream, Pool: up.pool, Log: up.log, ApprovalHint: up.approvalHint,
		OtherKeys: func() []string { return up.otherKeys(g.list()) },
	})
	return up
}

func (u *upstream) poolParams() link.PoolParams {
	p := link.PoolParams{
		Shared: link.Params{
			Connect:       u.connectShared,
			ConnectWait:   u.gateway.options.startTimeout(),
			ReadLists:     u.refresh,
			Lazy:          u.Settings.Lazy,
			IdleTimeout:   u.Settings.Idle,
			OnStateChange: u.reportState,
			Log:           u.log,
		},
		Own:        u.ownParams,
		ShareCalls: u.Settings.Share,
		CanAsk:     func(c link.Capabilities) bool { return u.relay.MayAsk(c) },
		Revision:   u.connector.revision,
		Wait:       u.gateway.options.startTimeout(),
		Log:        u.log,
	}
	if u.connector.isProgram() {
		p.Processes = u.gateway.processPlaces
	}
	return p
}

// ownParams returns the parameters of a connection of a caller.
func (u *upstream) ownParams(c link.Caller) link.Params {
	return link.Params{
		Connect: func(ctx context.Context, conn *link.Conn) (*mcpclient.Client, error) {
			o := u.clientOptions(conn)
			u.relay.DeclareCapabilities(o, c.Capabilities, conn)
			if u.connector.mayHaveOwnFeatures() {
				changed := func(context.Context, *mcpclient.Client) { u.callerListsChanged(conn) }
				o.OnToolsChanged, o.OnPromptsChanged, o.OnResourcesChanged = changed, changed, changed
			}
			if u.connector.mayHaveSessions() {
				o.OnLog = u.relay.ForwardLogTo(c.Session)
			}
			return u.connector.connect(ctx, o)
		},
		ConnectWait: u.gateway.options.startTimeout(),
		IdleTimeout: u.Settings.Idle,
		ReadFeatures: func(ctx context.Context, client *mcpclient.Client, conn *link.Conn) time.Time {
			return u.readOwnFeatures(ctx, client, c, conn)
		},
		OnLost: u.own.drop,
		Log:    u.log,
	}
}

// callerListsChanged is called when a server announces a change on a caller connection. It requests
// a new read of the lists of that connection. Unless the connection has a process of its own, it also
// requests a new read of the shared lists: many servers announce a change of all sessions only to the
// session that has caused it.
func (u *upstream) callerListsChanged(conn *link.Conn) {
	conn.RequestRefresh()
	if !u.connector.isProgram() {
		u.pool.SharedConn().RequestRefresh()
	}
}

// start starts the shared connection.
func (u *upstream) start() {
	u.mu.Lock()
	if !u.Settings.Lazy {
		u.startDeadline = time.Now().Add(u.gateway.options.startTimeout())
	}
	u.mu.Unlock()
	u.pool.Start()
}

func (u *upstream) connectShared(ctx context.Context, conn *link.Conn) (*mcpclient.Client, error) {
	changed := func(context.Context, *mcpclient.Client) { conn.RequestRefresh() }
	o := u.clientOptions(conn)
	o.OnToolsChanged, o.OnPromptsChanged, o.OnResourcesChanged = changed, changed, changed
	client, err := u.connector.connect(ctx, o)
	if err == nil {
		client.Use(u.listTTL.record)
	}
	return client, err
}

// clientOptions returns options without capabilities; declareCapabilities adds those of a
// caller.
func (u *upstream) clientOptions(conn *link.Conn) *mcpclient.Options {
	o := u.connector.clientOptions()
	o.OnEvent, o.OnNotification = u.relay.OnEvent(conn), u.relay.OnNotification(conn)
	return o
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
	if err := u.filter(ctx, cat, host.Listing{Initial: u.initial.next(cat, u.pool.SharedConn().ReadsInitialLists())}); err != nil {
		return err
	}
	u.findImitations(cat, u.otherKeys(u.gateway.list()))
	u.connector.setRevision(client.Revision())
	u.mu.Lock()
	before := u.catalog
	cat.generation = before.generation
	if !cat.lists(before) || !u.catalogRead {
		cat.generation++
	}
	u.catalog, u.catalogRead = cat, true
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
	if u.pool.Context().Err() != nil { // do not report the end of the gateway
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
	s := host.Status{Key: u.Key, Transport: u.Transport, Stderr: u.connector.stderr.all(), Revision: u.connector.revision()}
	u.pool.SharedConn().FillStatus(&s)
	u.relay.FillStatus(&s)
	for _, conns := range u.pool.All() {
		s.Callers += len(conns)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
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
	return s
}

// otherKeys returns the keys of all upstreams but this one.
func (u *upstream) otherKeys(all []*upstream) (keys []string) {
	for _, other := range all {
		if other.Key != u.Key {
			keys = append(keys, other.Key)
		}
	}
	return keys
}
