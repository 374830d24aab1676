package catalog

import (
	"log/slog"
	"sync"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// ownFeatures are the features of one upstream that only the callers of some connections have, until
// the connection is lost.
type ownFeatures struct {
	log  *slog.Logger
	pool *mcpserver.OwnerPool // of the bytes that one caller has

	mu     sync.Mutex
	byConn map[*link.Conn]*connFeatures // guarded by mu
}

// connFeatures are the features of the caller of one connection.
type connFeatures struct {
	features *callerFeatures
	place    *mcpserver.OwnerPlace // of the features, or nil
}

func newOwnFeatures(log *slog.Logger) ownFeatures {
	return ownFeatures{
		log:    log,
		pool:   mcpserver.NewOwnerPool(mcpserver.OwnerPoolOptions{Total: maxCatalog}),
		byConn: make(map[*link.Conn]*connFeatures),
	}
}

// of returns the features that only the connection's caller has, or nil.
func (o *ownFeatures) of(conn *link.Conn) *callerFeatures {
	o.mu.Lock()
	defer o.mu.Unlock()
	if own := o.byConn[conn]; own != nil {
		return own.features
	}
	return nil
}

// set replaces the features of the connection's caller, notifies its session of the change, and
// counts the features to the owner of the connection. If there is no room, the features of the owner
// that has most are dropped, which may be these.
func (o *ownFeatures) set(conn *link.Conn, now *callerFeatures) {
	o.swap(conn, &connFeatures{features: now}).notifySession(conn.Session)
	if now.bytes == 0 {
		return
	}
	place, err := o.pool.Take(conn.Owner, now.bytes, func() { o.evict(conn) })
	if err != nil {
		o.evict(conn)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if own := o.byConn[conn]; own != nil {
		own.place = place
	} else {
		place.Release()
	}
}

// drop removes the features of a connection that was lost or closed: its server has
// forgotten them.
func (o *ownFeatures) drop(conn *link.Conn) { o.swap(conn, nil).notifySession(conn.Session) }

// swap replaces the features of the connection's caller, and returns the lists that
// have changed. The place of those before is released.
func (o *ownFeatures) swap(conn *link.Conn, now *connFeatures) changedLists {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.byConn[conn]
	if before == nil {
		before = new(connFeatures)
	}
	before.place.Release()
	if now == nil {
		delete(o.byConn, conn)
		return before.features.changedTo(nil)
	}
	o.byConn[conn] = now
	return before.features.changedTo(now.features)
}

// replace replaces the features of the connection's caller unless they have changed.
func (o *ownFeatures) replace(conn *link.Conn, before, now *callerFeatures) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.byConn[conn]
	if own == nil || own.features != before {
		return false
	}
	own.features = now
	return true
}

// all returns the features of all connections.
func (o *ownFeatures) all() map[*link.Conn]*callerFeatures {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[*link.Conn]*callerFeatures, len(o.byConn))
	for conn, own := range o.byConn {
		all[conn] = own.features
	}
	return all
}

// evict drops the features of a connection, because there is no room for them.
func (o *ownFeatures) evict(conn *link.Conn) {
	o.log.Warn("features for one caller are left out, because those of all callers are too large", "limit bytes", maxCatalog)
	o.drop(conn)
}

// requestReads requests a new read of the lists of caller connections that have features of
// their own. It is called after the shared lists have changed: a feature that is in the shared lists
// now is no longer one of a single caller.
func (o *ownFeatures) requestReads() {
	for conn, own := range o.all() {
		if own.set.Len() > 0 {
			conn.RequestRefresh()
		}
	}
}

// refilter filters the features again, after an approval.
func (o *ownFeatures) refilter(filter func(before *callerFeatures, on *link.Conn) *callerFeatures) {
	for conn, before := range o.all() {
		if now := filter(before, conn); now != nil && o.replace(conn, before, now) {
			before.changedTo(now).notifySession(conn.Session)
		}
	}
}
