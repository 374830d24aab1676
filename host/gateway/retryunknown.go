package gateway

import (
	"context"
	"encoding/json/v2"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// unknownNamePause is the minimum time between two reads of an upstream's lists because of
	// requests of one owner that name unknown tools or prompts.
	unknownNamePause = 30 * time.Second
	// maxUnknownNameOwners limits the owners that are remembered. When it is reached, an owner of
	// the principal or address with most is forgotten.
	maxUnknownNameOwners = 1024
	// maxFruitlessPause limits the pause, which doubles after each read that brought nothing new.
	maxFruitlessPause = 5 * time.Minute
)

// unknownNames limits the reads of an upstream's lists because of requests that name unknown tools
// or prompts, for each owner: none keeps another from a read. refreshPace limits the reads of all
// owners together.
type unknownNames struct {
	pool *mcpserver.OwnerPool // of the owners in byOwner

	mu      sync.Mutex
	byOwner map[mcpserver.Owner]*fruitlessReads // guarded by mu
}

// fruitlessReads is the pause between two reads because of requests of one owner.
type fruitlessReads struct {
	place *mcpserver.OwnerPlace
	pause time.Duration
	next  time.Time
}

func newUnknownNames() unknownNames {
	return unknownNames{
		pool:    mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: maxUnknownNameOwners}),
		byOwner: make(map[mcpserver.Owner]*fruitlessReads),
	}
}

// take reports whether the owner of a request may cause a read now.
func (l *unknownNames) take(owner mcpserver.Owner) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	of := l.byOwner[owner]
	if of == nil {
		of = l.addLocked(owner, now)
	}
	if of == nil || now.Before(of.next) {
		return false
	}
	of.next = now.Add(of.pause)
	return true
}

// addLocked adds an owner, or returns nil if there is no room. When there are too many owners, those
// whose pause is over are forgotten first. The caller holds mu.
func (l *unknownNames) addLocked(owner mcpserver.Owner, now time.Time) *fruitlessReads {
	if len(l.byOwner) >= maxUnknownNameOwners {
		for other, of := range l.byOwner {
			if now.After(of.next.Add(of.pause)) {
				delete(l.byOwner, other)
				of.place.Release()
			}
		}
	}
	// Owners are evicted in Take, so the lock is held then, too.
	place, err := l.pool.Take(owner, 1, func() { delete(l.byOwner, owner) })
	if err != nil {
		return nil
	}
	of := &fruitlessReads{place: place, pause: unknownNamePause}
	l.byOwner[owner] = of
	return of
}

// ended notes whether a read has found the tool or prompt.
func (l *unknownNames) ended(owner mcpserver.Owner, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.byOwner[owner]
	switch {
	case of == nil: // forgotten
	case found:
		of.pause = unknownNamePause
	default:
		of.pause = min(2*of.pause, maxFruitlessPause)
	}
}

// retryUnknown is middleware that reads the lists of an upstream again when a request names a
// tool or prompt that is unknown: the upstream may have added it without an announcement. If the
// upstream waits for approval, the error says so. The lists are also read again when the upstream
// does not know a feature that it has listed. An unknown resource may be of any upstream, so only the
// lists for the caller's capabilities are read for it.
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
			u := g.byKey(host.KeyOf(named.Name))
			if u == nil {
				return result, err
			}
			if u.readAgainFor(ctx, r, named.Name) {
				if result, err = next(ctx, r); err == nil || !isUnknown(err) {
					return result, err
				}
			}
			return result, u.explainUnknown(r, named.Name, err)
		case mcp.MethodResourcesRead:
			if json.Unmarshal(r.Params(), &named) == nil && !g.hasResource(ctx, r, named.URI) &&
				g.waitForCapabilityLists(ctx, r) && g.hasResource(ctx, r, named.URI) {
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

// readAgainFor reads the lists again that may contain the tool or prompt that a request names, and
// reports whether the request is to be repeated.
func (u *upstream) readAgainFor(ctx context.Context, r *mcpserver.Request, wire string) bool {
	if u.offers(r, wire) { // and the upstream has refused the request
		if u.lastCatalog().ages && u.unknownNames.take(r.Owner()) {
			u.pool.SharedConn().BeginRefresh()
		}
		return false
	}
	if u.waitForPendingReads(ctx, r) && u.offers(r, wire) {
		return true
	}
	waits := u.beginReadsFor(r)
	if read := u.readCapabilityList(link.CapabilitiesOf(r), r.Owner()); read != nil {
		waits = append(waits, read.wait)
	}
	for _, wait := range waits {
		wait(ctx)
	}
	if len(waits) == 0 {
		return false
	}
	found := u.offers(r, wire)
	u.unknownNames.ended(r.Owner(), found)
	return found
}

// beginReadsFor begins to read the lists that may contain a feature that a caller names: the shared
// lists, if the upstream cannot announce changes, and those of the caller's own connections.
func (u *upstream) beginReadsFor(r *mcpserver.Request) (waits []func(context.Context)) {
	connections := u.ownConnections(r)
	if u.lastCatalog().ages {
		connections = append(connections, u.pool.SharedConn())
	}
	connections = slices.DeleteFunc(connections, func(conn *link.Conn) bool {
		state, _ := conn.State()
		return state != host.Ready
	})
	if len(connections) == 0 || !u.unknownNames.take(r.Owner()) {
		return nil
	}
	for _, conn := range connections {
		waits = append(waits, conn.BeginRefresh())
	}
	return waits
}

// waitForPendingReads waits until the host has read the lists whose change the upstream has
// announced, if they may contain a feature that a caller names. It reports false if no read is
// pending. Lists are read at most once a second, so a caller may name a new feature before the host
// knows it.
func (u *upstream) waitForPendingReads(ctx context.Context, r *mcpserver.Request) (waited bool) {
	for _, conn := range append(u.ownConnections(r), u.pool.SharedConn()) {
		waited = conn.WaitForRefresh(ctx) || waited
	}
	return waited
}

// ownConnections returns the connections of a caller that may have features of their own.
func (u *upstream) ownConnections(r *mcpserver.Request) []*link.Conn {
	if u.Settings.Share || !u.connector.mayHaveOwnFeatures() {
		return nil
	}
	return slices.Collect(u.pool.Of(link.CallerOf(r)))
}

// offers reports whether the sender of a request can use the tool or prompt of that wire name.
func (u *upstream) offers(r *mcpserver.Request, wire string) bool {
	return slices.ContainsFunc(append(u.callerCatalogs(link.CallerOf(r)), u.visibleCatalog()), func(c *catalog) bool {
		if r.Method() == mcp.MethodPromptsGet {
			return slices.ContainsFunc(c.admitted.Prompts, func(p mcp.Prompt) bool { return host.WireName(u.Key, p.Name) == wire })
		}
		return slices.ContainsFunc(c.admitted.Tools, func(t mcp.Tool) bool { return host.WireName(u.Key, t.Name) == wire })
	})
}
