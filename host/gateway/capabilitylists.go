package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// capabilityList holds the features that were listed over a connection which declares certain
// capabilities and serves no call.
type capabilityList struct {
	last       *capabilityRead // or nil
	reading    bool
	features   *callerFeatures // read last, or nil
	generation uint64          // of the shared catalog at that time
	begun      time.Time       // of the last read
	failed     bool            // the last read
}

// capabilityRead is one read of the features for certain capabilities.
type capabilityRead struct {
	done     chan struct{} // closed when it has ended
	deadline time.Time     // until which requests wait for it
}

func (r *capabilityRead) wait(ctx context.Context) {
	timer := time.NewTimer(time.Until(r.deadline))
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// capabilityRetry is the pause before a failed read of features for certain capabilities is
// repeated.
const capabilityRetry = time.Minute

// readCapabilityList reads the features for callers with certain capabilities unless they are
// known, also while the upstream starts. The read counts to the owner. It returns a read for which to
// wait, or nil.
func (u *upstream) readCapabilityList(c link.Capabilities, owner mcpserver.Owner) *capabilityRead {
	c = c.ForLists()
	if u.Settings.Share || c == (link.Capabilities{}) {
		return nil
	}
	state, _ := u.pool.SharedConn().State()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.withdrawn || !slices.Contains([]host.State{host.Starting, host.Ready, host.Idle}, state) {
		return nil
	}
	l := u.capabilityLists[c]
	if l == nil {
		l = new(capabilityList)
		if u.capabilityLists == nil {
			u.capabilityLists = make(map[link.Capabilities]*capabilityList)
		}
		u.capabilityLists[c] = l
	}
	age := time.Since(l.begun)
	switch {
	case l.reading:
		return l.last
	case l.failed && age < capabilityRetry:
		return nil
	case !l.failed && l.last != nil && l.generation == u.catalog.generation && !(u.catalog.ages && age >= max(u.catalog.maxAge, link.MinRefreshInterval)):
		return nil
	}
	if !u.pool.Go(func(ctx context.Context) { u.fillCapabilityList(ctx, l, c, owner) }) {
		return nil
	}
	l.reading, l.begun = true, time.Now()
	l.last = &capabilityRead{make(chan struct{}), l.begun.Add(u.gateway.options.startTimeout())}
	return l.last
}

// lists reports whether two catalogs list the same features. Resources do not count: in many
// servers they change all the time, and each read for capabilities may start a process.
func (c *catalog) lists(other *catalog) bool {
	return c == other || equalDefs(c.tools, other.tools) && equalDefs(c.prompts, other.prompts) && equalDefs(c.templates, other.templates)
}

func (u *upstream) fillCapabilityList(ctx context.Context, l *capabilityList, c link.Capabilities, owner mcpserver.Owner) {
	u.mu.Lock()
	before := l.features
	u.mu.Unlock()
	now, generation, err := u.readCapabilityFeatures(ctx, c, owner, before)
	if err != nil {
		u.log.Warn("cannot list the features for clients with more capabilities", "error", link.RecordedText(err))
	}
	u.mu.Lock()
	if err == nil {
		l.features, l.generation = now, generation
	}
	l.reading, l.failed = false, err != nil
	close(l.last.done)
	u.mu.Unlock()
	if err == nil {
		before.changedTo(now).notifyClients(u.gateway.server, c)
	}
}

// readCapabilityFeatures connects to the upstream as a client with the capabilities, reads its
// features, and closes the connection. It also returns the generation of the shared catalog. It waits
// for its turn before it connects: a client of the stateless era can declare all combinations of
// capabilities at once, and each connection to a program starts it.
func (u *upstream) readCapabilityFeatures(ctx context.Context, c link.Capabilities, owner mcpserver.Owner, before *callerFeatures) (now *callerFeatures, generation uint64, err error) {
	err = u.listReads.run(ctx, owner, nil, func(ctx context.Context) error {
		conn := link.New(ctx, link.Params{Kind: link.Own, Log: u.log}) // asks nobody
		defer conn.Close()
		o := u.clientOptions(conn)
		u.relay.DeclareCapabilities(o, c, conn)
		limited, cancel := context.WithTimeout(ctx, listTimeout)
		defer cancel()
		client, err := u.connector.connect(limited, o)
		if err != nil {
			return err
		}
		defer conn.CloseClient(client)
		known, listed, err := u.listForCapabilities(ctx, client)
		if err == nil {
			generation = known.generation
			now, err = u.newCallerFeatures(ctx, listed, known, before, host.Listing{Capabilities: c.Names()}, nil)
		}
		return err
	})
	return now, generation, err
}

// listForCapabilities lists the features of the upstream. It returns them with the shared catalog, for
// which it waits. A list that could be read over the shared connection alone is an error.
func (u *upstream) listForCapabilities(ctx context.Context, client *mcpclient.Client) (known, listed *catalog, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if listed, err = readCatalog(ctx, client, new(catalog)); err != nil {
		return nil, nil, err
	}
	if !u.startFinished() {
		defer u.wakeIfIdle()()
		u.waitForStart(ctx)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.catalogRead {
		return nil, nil, errors.New("the features of the upstream are not known yet")
	}
	if len(listed.omitted) > len(u.catalog.omitted) {
		return nil, nil, errors.New(strings.Join(listed.omitted, "; "))
	}
	return u.catalog, listed, nil
}

// readCapabilityLists is middleware that reads the features of all upstreams for the capabilities of
// a caller, if they are not known yet, before it passes on a request for a list.
func (g *Gateway) readCapabilityLists(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if isList(r.Method()) {
			g.waitForCapabilityLists(ctx, r)
		}
		return next(ctx, r)
	}
}

// waitForCapabilityLists reads the features of all upstreams for the capabilities of a caller, if
// they are not known yet, and reports whether there was a read to wait for.
func (g *Gateway) waitForCapabilityLists(ctx context.Context, r *mcpserver.Request) bool {
	var reads []*capabilityRead
	for _, u := range g.list() {
		if read := u.readCapabilityList(link.CapabilitiesOf(r), r.Owner()); read != nil {
			reads = append(reads, read)
		}
	}
	for _, read := range reads {
		read.wait(ctx)
	}
	return len(reads) > 0
}
