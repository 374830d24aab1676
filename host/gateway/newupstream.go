package gateway

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/catalog"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/host/gateway/relay"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func newUpstream(g *Gateway, u host.Upstream) *upstream {
	up := &upstream{Upstream: u, gateway: g, log: g.options.logger().With("upstream", u.Key)}
	if !u.Settings.Lazy { // requests may arrive before Start
		up.startDeadline = time.Now().Add(g.options.startTimeout())
	}
	up.connector = connector{upstream: &up.Upstream, options: g.options, record: g.record, log: up.log}
	up.pool = link.NewPool(g.ctx, up.poolParams())
	up.relay = relay.New(relay.Params{
		Upstream: &up.Upstream, Pool: up.pool, Log: up.log, ApprovalHint: up.approvalHint,
		OtherKeys: up.otherKeys, AskPerson: g.options.orZero().AskPerson, AdmitRoots: up.admitRoots,
	})
	up.source = g.catalog.NewSource(up.sourceParams())
	return up
}

// admitRoots returns the roots of the configuration that the upstream may get now. If its approval does not cover one any
// more, all connections are made again, which need the approval.
func (u *upstream) admitRoots(ctx context.Context, paths []string) []string {
	admitted, err := u.gateway.options.admitRoots(ctx, &u.Upstream, paths)
	if err != nil && ctx.Err() == nil {
		u.log.Warn("roots: not all are given to the upstream", "error", err)
	}
	if errors.Is(err, host.ErrNeedsApproval) {
		u.warm.drop()
		u.pool.Readmit()
	}
	return admitted
}

func (u *upstream) poolParams() link.PoolParams {
	p := link.PoolParams{
		Shared: link.Params{
			Connect:       u.connectShared,
			ConnectWait:   u.gateway.options.callStartTimeout(),
			ReadLists:     u.readLists,
			Lazy:          u.Settings.Lazy,
			IdleTimeout:   u.Settings.Idle,
			OnStateChange: u.reportState,
			Log:           u.log,
		},
		Own:        u.ownParams,
		ShareCalls: u.Settings.Share,
		CanAsk:     func(c link.Capabilities) bool { return u.relay.MayAsk(c) },
		AsksPerson: func(c link.Capabilities) bool { return u.relay.AsksPerson(c) },
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
			if client, err := u.takeWarm(ctx, c, conn); client != nil || err != nil {
				return client, err
			}
			o := u.clientOptions(conn)
			o.OnMessage = u.connector.onMessage(c.Principal)
			u.relay.DeclareCapabilities(o, c.Capabilities, func() *link.Conn { return conn })
			if u.connector.mayHaveOwnFeatures() {
				changed := func(context.Context, *mcpclient.Client) { u.callerListsChanged(conn) }
				o.OnToolsChanged, o.OnPromptsChanged, o.OnResourcesChanged = changed, changed, changed
			}
			if u.connector.mayHaveSessions() && conn.Session != nil {
				o.OnLog = func(ctx context.Context, m *mcp.LoggingMessageParams) { u.relay.ForwardLog(ctx, conn, m) }
			}
			return u.connect(ctx, conn, o)
		},
		ConnectWait: u.gateway.options.callStartTimeout(),
		IdleTimeout: u.Settings.Idle,
		ReadFeatures: func(ctx context.Context, client *mcpclient.Client, conn *link.Conn) link.FeatureRead {
			return u.source.ReadOwn(ctx, client, c, conn)
		},
		OnLost: u.source.DropOwn,
		Log:    u.log,
	}
}

func (u *upstream) sourceParams() catalog.SourceParams {
	h := handlers{u}
	return catalog.SourceParams{
		Upstream: &u.Upstream,
		Pool:     u.pool,
		Handlers: catalog.Handlers{Tool: h.callTool, Prompt: h.getPrompt, PromptOptions: h.promptOptions, TemplateOptions: h.templateOptions},
		Filter: func(ctx context.Context, l host.Listing) (host.Admitted, error) {
			return u.gateway.options.filterDefinitions(ctx, &u.Upstream, l)
		},
		FiltersAll:     u.gateway.options.orZero().FilterDefinitions != nil,
		Record:         u.gateway.record,
		Connect:        u.connectForLists,
		Program:        u.connector.isProgram(),
		HasOwnFeatures: u.connector.mayHaveOwnFeatures,
		IsStarting:     u.isFirstStart,
		WaitForStart:   u.wakeAndWait,
		Wait:           u.gateway.options.startTimeout(),
		Log:            u.log,
	}
}

func (u *upstream) connectShared(ctx context.Context, conn *link.Conn) (*mcpclient.Client, error) {
	changed := func(context.Context, *mcpclient.Client) { conn.RequestRefresh() }
	o := u.clientOptions(conn)
	// Callers without capabilities see the lists of this connection, so it has those of their connections.
	u.relay.DeclareCapabilities(o, link.Capabilities{}, func() *link.Conn { return conn })
	o.OnToolsChanged, o.OnPromptsChanged, o.OnResourcesChanged = changed, changed, changed
	client, err := u.connect(ctx, conn, o)
	if err == nil {
		client.Use(u.source.RecordAges)
		u.knowMissingScopes(ctx, conn)
	}
	return client, err
}

// knowMissingScopes adds the scopes that calls have lacked before to the status.
func (u *upstream) knowMissingScopes(ctx context.Context, conn *link.Conn) {
	scopes, err := u.gateway.options.missingScopes(ctx, u.connector.lastAdmitted())
	if err != nil {
		u.log.Warn("the scopes that calls have lacked before are not known", "error", err)
	}
	conn.AddMissingScopes(scopes)
}

// connect connects to the upstream for a connection, and counts the process that it starts.
func (u *upstream) connect(ctx context.Context, conn *link.Conn, o *mcpclient.Options) (*mcpclient.Client, error) {
	client, err := u.connector.connect(ctx, o)
	if err == nil && u.connector.isProgram() {
		id := client.ProcessID()
		u.processes.add(id)
		conn.OnClose(func() { u.processes.remove(id) })
	}
	return client, err
}

// clientOptions returns options without capabilities; Relay.DeclareCapabilities adds those of a
// caller, and the roots of the configuration.
func (u *upstream) clientOptions(conn *link.Conn) *mcpclient.Options {
	o := u.connector.clientOptions()
	o.OnLimit = u.noteLimit
	o.OnEvent = func(_ context.Context, e mcpclient.Event) { u.relay.OnEvent(conn, e) }
	o.OnNotification = func(ctx context.Context, method string, params jsontext.Value) {
		u.relay.OnNotification(ctx, conn, method, params)
	}
	return o
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

// readLists lists the features of the upstream over its shared connection.
func (u *upstream) readLists(ctx context.Context, client *mcpclient.Client, started func() bool) (equal bool, err error) {
	u.connector.setRevision(client.Revision()) // which another session may have
	return u.source.Refresh(ctx, client, started)
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
