package gateway

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// capabilityList is a list of tools that was read over a connection which declares certain
// capabilities and serves no call.
type capabilityList struct {
	last    *capabilityRead // or nil
	reading bool
	tools   *callerTools // read last, or nil
	known   []mcp.Tool   // of the shared catalog at that time
	begun   time.Time    // of the last read
	failed  bool         // the last read
}

// capabilityRead is one read of the tools for certain capabilities.
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

// capabilityRetry is the pause before a failed read of tools for certain capabilities is
// repeated.
const capabilityRetry = time.Minute

// maxCapabilityReads limits the connections to one upstream that list tools for certain
// capabilities at the same time. Others wait. A client of the stateless era can declare all
// combinations of capabilities at once, and each connection to a program starts it.
const maxCapabilityReads = 4

// forLists returns the capabilities on which lists of servers may depend.
func (have callerCapabilities) forLists() callerCapabilities {
	have.rootChanges = false
	return have
}

// readCapabilityList reads the tools for callers with certain capabilities unless they are
// known, also while the upstream starts. It returns a read for which to wait, or nil.
func (u *upstream) readCapabilityList(c callerCapabilities) *capabilityRead {
	c = c.forLists()
	if u.Settings.Share || c == (callerCapabilities{}) {
		return nil
	}
	state, _ := u.shared.currentState()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.withdrawn || u.closed || !slices.Contains([]host.State{host.Starting, host.Ready, host.Idle}, state) {
		return nil
	}
	l := u.capabilityLists[c]
	if l == nil {
		l = new(capabilityList)
		if u.capabilityLists == nil {
			u.capabilityLists = make(map[callerCapabilities]*capabilityList)
		}
		u.capabilityLists[c] = l
	}
	age := time.Since(l.begun)
	switch {
	case l.reading:
		return l.last
	case l.failed && age < capabilityRetry:
		return nil
	case !l.failed && l.last != nil && sameTools(l.known, u.catalog.tools) && !(u.catalog.ages && age >= max(u.catalog.maxAge, minRefreshInterval)):
		return nil
	}
	l.reading, l.begun = true, time.Now()
	l.last = &capabilityRead{make(chan struct{}), l.begun.Add(u.gateway.options.startTimeout())}
	u.work.Go(func() { u.fillCapabilityList(l, c) })
	return l.last
}

func sameTools(a, b []mcp.Tool) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || reflect.DeepEqual(a, b))
}

func (u *upstream) fillCapabilityList(l *capabilityList, c callerCapabilities) {
	u.mu.Lock()
	before := l.tools
	u.mu.Unlock()
	var tools *callerTools
	known, listed, err := u.listForCapabilities(c)
	if err == nil {
		tools, err = u.newCallerTools(listed, known, before, nil)
	}
	if err != nil {
		u.log.Warn("cannot list the tools for clients with more capabilities", "error", err)
	}
	u.mu.Lock()
	if err == nil {
		l.tools, l.known = tools, known.tools
	}
	l.reading, l.failed = false, err != nil
	close(l.last.done)
	u.mu.Unlock()
	if err == nil && !before.equal(tools) {
		u.capabilityToolsChanged(c)
	}
}

// capabilityToolsChanged notifies the clients with certain capabilities.
func (u *upstream) capabilityToolsChanged(c callerCapabilities) {
	u.gateway.server.ToolsChangedFor(func(r mcp.Revision, declared mcp.ClientCapabilities) bool {
		return capabilitiesIn(r, declared).forLists() == c
	})
}

// listForCapabilities connects to the upstream as a client with the capabilities, lists its
// tools, and closes the connection. It returns them with the shared catalog, for which it
// waits.
func (u *upstream) listForCapabilities(c callerCapabilities) (known *catalog, listed []mcp.Tool, err error) {
	select {
	case u.capabilityReads <- struct{}{}:
		defer func() { <-u.capabilityReads }()
	case <-u.ctx.Done():
		return nil, nil, context.Cause(u.ctx)
	}
	ctx, cancel := context.WithTimeout(u.ctx, listTimeout)
	defer cancel()
	conn := newConnection(connectionParams{log: u.log}) // asks nobody
	o := u.clientOptions(conn)
	u.declareCapabilities(o, c, conn)
	client, err := u.connect(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	defer conn.closeClient(client)
	if listed, err = collect(client.Tools(ctx)); err != nil {
		return nil, nil, fmt.Errorf("tools: %w", err)
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
	return u.catalog, listed, nil
}

// readCapabilityLists is middleware that has the tools of all upstreams listed for the
// capabilities of a caller before its request is answered, if they are not known yet.
func (g *Gateway) readCapabilityLists(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		if r.Method() != mcp.MethodToolsList {
			return next(ctx, r)
		}
		var reads []*capabilityRead
		for _, u := range g.list() {
			if read := u.readCapabilityList(capabilitiesOf(r)); read != nil {
				reads = append(reads, read)
			}
		}
		for _, read := range reads {
			read.wait(ctx)
		}
		return next(ctx, r)
	}
}
