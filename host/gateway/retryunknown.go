package gateway

import (
	"context"
	"encoding/json/v2"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// unknownNamePause is the least time between two reads of an upstream's lists because of
	// requests of one owner that name unknown tools or prompts.
	unknownNamePause = 30 * time.Second
	// maxUnknownNameOwners limits the owners that are remembered. No more can cause a read.
	maxUnknownNameOwners = 1024
	// maxFruitlessPause limits the pause after reads that brought nothing new, which starts
	// at minRefreshInterval and doubles.
	maxFruitlessPause = 5 * time.Minute
)

// unknownNames limits the reads of an upstream's lists because of requests that name
// unknown tools or prompts, so that no client can make the host read all the time.
type unknownNames struct {
	mu    sync.Mutex
	last  map[caller]time.Time // guarded by mu: by owner
	pause time.Duration        // guarded by mu: between any two reads
	next  time.Time            // guarded by mu: of any owner
}

// take reports whether the owner may cause a read now.
func (l *unknownNames) take(owner caller) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.next) || now.Sub(l.last[owner]) < unknownNamePause {
		return false
	}
	if len(l.last) >= maxUnknownNameOwners {
		for other, last := range l.last {
			if now.Sub(last) >= unknownNamePause {
				delete(l.last, other)
			}
		}
		if len(l.last) >= maxUnknownNameOwners {
			return false
		}
	}
	if l.last == nil {
		l.last = make(map[caller]time.Time)
	}
	l.last[owner] = now
	l.next = now.Add(max(l.pause, minRefreshInterval))
	return true
}

// ended notes whether a read has found the tool or prompt.
func (l *unknownNames) ended(found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pause = min(max(2*l.pause, minRefreshInterval), maxFruitlessPause)
	if found {
		l.pause, l.next = 0, time.Time{}
	}
}

// retryUnknown is middleware that reads the lists of an upstream again when a request names a
// tool or prompt that is unknown, in case the upstream has it by now and could not announce it.
// It also has lists read again when the upstream does not know a feature of them. For an unknown
// resource, which may be of any upstream, only the lists for the caller's capabilities are read.
func (g *Gateway) retryUnknown(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		result, err := next(ctx, r)
		if err == nil || !isUnknown(err) {
			return result, err
		}
		var named struct {
			Name string `json:"name"`
			URI  string `json:"uri"`
		}
		switch r.Method() {
		case mcp.MethodToolsCall, mcp.MethodPromptsGet:
			if json.Unmarshal(r.Params(), &named) != nil {
				return result, err
			}
			if u := g.byKey(host.KeyOf(named.Name)); u != nil && u.readAgainFor(ctx, r, named.Name) {
				return next(ctx, r)
			}
		case mcp.MethodResourcesRead:
			if json.Unmarshal(r.Params(), &named) == nil && g.ownerOf(r, named.URI) == nil &&
				g.waitForCapabilityLists(ctx, r) && g.ownerOf(r, named.URI) != nil {
				return next(ctx, r)
			}
		}
		return result, err
	}
}

// isUnknown reports whether an error may say that a feature is unknown.
func isUnknown(err error) bool {
	switch mcp.CodeOf(err) {
	case mcp.CodeInvalidParams, mcp.CodeMethodNotFound, mcp.CodeResourceNotFound:
		return true
	}
	return false
}

// readAgainFor has the lists read again in which a tool or prompt may be that a request names,
// and reports whether the request is to be repeated.
func (u *upstream) readAgainFor(ctx context.Context, r *mcpserver.Request, wire string) bool {
	owner := caller{principal: r.Principal(), session: r.Session()}
	if u.offers(r, wire) { // and the upstream has refused the request
		if u.lastCatalog().ages && u.unknownNames.take(owner) {
			u.shared.beginRefresh()
		}
		return false
	}
	if u.waitForPendingReads(ctx, r) && u.offers(r, wire) {
		return true
	}
	waits := u.beginReadsFor(r, owner)
	if read := u.readCapabilityList(capabilitiesOf(r)); read != nil {
		waits = append(waits, read.wait)
	}
	for _, wait := range waits {
		wait(ctx)
	}
	if len(waits) == 0 {
		return false
	}
	found := u.offers(r, wire)
	u.unknownNames.ended(found)
	return found
}

// beginReadsFor has the lists read in which a feature that a caller names may be: those of an
// upstream that cannot announce changes, and those of the caller's own connections.
func (u *upstream) beginReadsFor(r *mcpserver.Request, owner caller) (waits []func(context.Context)) {
	connections := u.ownConnections(r)
	if u.lastCatalog().ages {
		connections = append(connections, u.shared)
	}
	connections = slices.DeleteFunc(connections, func(conn *connection) bool {
		state, _ := conn.currentState()
		return state != host.Ready
	})
	if len(connections) == 0 || !u.unknownNames.take(owner) {
		return nil
	}
	for _, conn := range connections {
		waits = append(waits, conn.beginRefresh())
	}
	return waits
}

// waitForPendingReads waits until the host has read the lists whose change the upstream has
// announced and in which a feature may be that a caller names. It reports false if there are
// none. Lists are read at most once a second, so a caller may use a new feature before.
func (u *upstream) waitForPendingReads(ctx context.Context, r *mcpserver.Request) (waited bool) {
	for _, conn := range append(u.ownConnections(r), u.shared) {
		waited = conn.waitForPendingRefresh(ctx) || waited
	}
	return waited
}

// ownConnections returns the connections of a caller that may have features of their own.
func (u *upstream) ownConnections(r *mcpserver.Request) (connections []*connection) {
	if u.Settings.Share || !u.mayHaveOwnFeatures() {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := callerOf(r); c.index < maxConnectionsPerCaller; c.index++ {
		if conn := u.callerConnections[c]; conn != nil {
			connections = append(connections, conn)
		}
	}
	return connections
}

// offers reports whether the sender of a request can use the tool or prompt of that wire name.
func (u *upstream) offers(r *mcpserver.Request, wire string) bool {
	return slices.ContainsFunc(append(u.callerCatalogs(callerOf(r)), u.visibleCatalog()), func(c *catalog) bool {
		if r.Method() == mcp.MethodPromptsGet {
			return slices.ContainsFunc(c.prompts, func(p mcp.Prompt) bool { return host.WireName(u.Key, p.Name) == wire })
		}
		return slices.ContainsFunc(c.approved, func(t mcp.Tool) bool { return host.WireName(u.Key, t.Name) == wire })
	})
}
