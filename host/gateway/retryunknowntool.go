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
	// unknownToolPause is the least time between two reads of an upstream's lists because of
	// calls of one owner that name unknown tools.
	unknownToolPause = 30 * time.Second
	// maxUnknownToolOwners limits the owners that are remembered. No more can cause a read.
	maxUnknownToolOwners = 1024
	// maxFruitlessPause limits the pause after reads that brought nothing new, which starts
	// at minRefreshInterval and doubles.
	maxFruitlessPause = 5 * time.Minute
)

// unknownTools limits the reads of an upstream's lists because of calls that name unknown
// tools, so that no client can make the host read all the time.
type unknownTools struct {
	mu    sync.Mutex
	last  map[caller]time.Time // guarded by mu: by owner
	pause time.Duration        // guarded by mu: between any two reads
	next  time.Time            // guarded by mu: of any owner
}

// take reports whether the owner may cause a read now.
func (l *unknownTools) take(owner caller) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.next) || now.Sub(l.last[owner]) < unknownToolPause {
		return false
	}
	if len(l.last) >= maxUnknownToolOwners {
		for other, last := range l.last {
			if now.Sub(last) >= unknownToolPause {
				delete(l.last, other)
			}
		}
		if len(l.last) >= maxUnknownToolOwners {
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

// ended notes whether a read has found the tool.
func (l *unknownTools) ended(found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pause = min(max(2*l.pause, minRefreshInterval), maxFruitlessPause)
	if found {
		l.pause, l.next = 0, time.Time{}
	}
}

// retryUnknownTool is middleware that reads the lists of an upstream again when a call names
// a tool that is unknown, in case the upstream has it by now and could not announce it.
// It also has lists read again when the upstream does not know a tool of them.
func (g *Gateway) retryUnknownTool(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		result, err := next(ctx, r)
		if err == nil || r.Method() != mcp.MethodToolsCall {
			return result, err
		}
		if code := mcp.CodeOf(err); code != mcp.CodeInvalidParams && code != mcp.CodeMethodNotFound {
			return result, err
		}
		var called mcp.CallToolParams
		if json.Unmarshal(r.Params(), &called) != nil {
			return result, err
		}
		u := g.byKey(host.KeyOf(called.Name))
		if u == nil {
			return result, err
		}
		owner := caller{principal: r.Principal(), session: r.Session()}
		if u.offers(r, called.Name) { // and the upstream has refused the call
			if u.lastCatalog().ages && u.unknownTools.take(owner) {
				u.shared.beginRefresh()
			}
			return result, err
		}
		waits := u.beginReadsFor(r, owner)
		if read := u.readCapabilityList(capabilitiesOf(r)); read != nil {
			waits = append(waits, read.wait)
		}
		for _, wait := range waits {
			wait(ctx)
		}
		if len(waits) == 0 {
			return result, err
		}
		found := u.offers(r, called.Name)
		if u.unknownTools.ended(found); found {
			return next(ctx, r)
		}
		return result, err
	}
}

// beginReadsFor has the lists read in which a tool that a caller names may be: those of an
// upstream that cannot announce changes, and those of the caller's own connections.
func (u *upstream) beginReadsFor(r *mcpserver.Request, owner caller) (waits []func(context.Context)) {
	var connections []*connection
	if u.lastCatalog().ages {
		connections = append(connections, u.shared)
	}
	if !u.Settings.Share && u.mayHaveOwnTools() {
		u.mu.Lock()
		for c := callerOf(r); c.index < maxConnectionsPerCaller; c.index++ {
			if conn := u.callerConnections[c]; conn != nil {
				connections = append(connections, conn)
			}
		}
		u.mu.Unlock()
	}
	connections = slices.DeleteFunc(connections, func(conn *connection) bool {
		state, _ := conn.currentState()
		return state != host.Ready
	})
	if len(connections) == 0 || !u.unknownTools.take(owner) {
		return nil
	}
	for _, conn := range connections {
		waits = append(waits, conn.beginRefresh())
	}
	return waits
}

// offers reports whether the sender of a request can call the tool of that wire name.
func (u *upstream) offers(r *mcpserver.Request, wire string) bool {
	has := func(tools []mcp.Tool) bool {
		return slices.ContainsFunc(tools, func(t mcp.Tool) bool { return host.WireName(u.Key, t.Name) == wire })
	}
	if has(u.visibleCatalog().approved) {
		return true
	}
	capable, own := u.callerTools(callerOf(r))
	return slices.ContainsFunc(append(own, capable), func(tools *callerTools) bool { return tools != nil && has(tools.hides.approved) })
}
