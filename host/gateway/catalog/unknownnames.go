package catalog

import (
	"context"
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
	source *Source
	pool   *mcpserver.OwnerPool // of the owners in byOwner

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

// ReadAgainFor reads the lists again that may contain the tool or prompt that a request names, and
// reports whether the request is to be repeated.
func (s *Source) ReadAgainFor(ctx context.Context, r *mcpserver.Request, wire string) bool {
	return s.unknownNames.readAgainFor(ctx, r, wire)
}

func (l *unknownNames) readAgainFor(ctx context.Context, r *mcpserver.Request, wire string) bool {
	if l.source.Offers(r, wire) { // and the upstream has refused the request
		if l.source.Catalog().ages && l.take(r.Owner()) {
			l.source.Pool.SharedConn().BeginRefresh()
		}
		return false
	}
	if l.waitForPendingReads(ctx, r) && l.source.Offers(r, wire) {
		return true
	}
	waits := l.beginReadsFor(r)
	if read := l.source.ReadCapabilityList(link.CapabilitiesOf(r), r.Owner()); read != nil {
		waits = append(waits, read.Wait)
	}
	for _, wait := range waits {
		wait(ctx)
	}
	if len(waits) == 0 {
		return false
	}
	found := l.source.Offers(r, wire)
	l.ended(r.Owner(), found)
	return found
}

// beginReadsFor begins to read the lists that may contain a feature that a caller names: the shared
// lists, if the upstream cannot announce changes, and those of the caller's own connections.
func (l *unknownNames) beginReadsFor(r *mcpserver.Request) (waits []func(context.Context)) {
	connections := l.ownConnections(r)
	if l.source.Catalog().ages {
		connections = append(connections, l.source.Pool.SharedConn())
	}
	connections = slices.DeleteFunc(connections, func(conn *link.Conn) bool {
		state, _ := conn.State()
		return state != host.Ready
	})
	if len(connections) == 0 || !l.take(r.Owner()) {
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
func (l *unknownNames) waitForPendingReads(ctx context.Context, r *mcpserver.Request) (waited bool) {
	for _, conn := range append(l.ownConnections(r), l.source.Pool.SharedConn()) {
		waited = conn.WaitForRefresh(ctx) || waited
	}
	return waited
}

// ownConnections returns the connections of a caller that may have features of their own.
func (l *unknownNames) ownConnections(r *mcpserver.Request) []*link.Conn {
	if l.source.Settings.Share || !l.source.HasOwnFeatures() {
		return nil
	}
	return slices.Collect(l.source.Pool.Of(link.CallerOf(r)))
}

// Offers reports whether the sender of a request can use the tool or prompt of that wire name.
func (s *Source) Offers(r *mcpserver.Request, wire string) bool {
	return slices.ContainsFunc(append(s.callerCatalogs(link.CallerOf(r)), s.Visible()), func(c *Catalog) bool {
		if r.Method() == mcp.MethodPromptsGet {
			return slices.ContainsFunc(c.admitted.Prompts, func(p mcp.Prompt) bool { return host.WireName(s.Key, p.Name) == wire })
		}
		return slices.ContainsFunc(c.admitted.Tools, func(t mcp.Tool) bool { return host.WireName(s.Key, t.Name) == wire })
	})
}
