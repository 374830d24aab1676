package gateway

import (
	"sync"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// ownFeatures are the features of one upstream that only the callers of some connections have, until
// the connection is lost.
type ownFeatures struct {
	pool *mcpserver.OwnerPool // of the bytes that one caller has

	mu     sync.Mutex
	byConn map[*link.Conn]*connFeatures // guarded by mu
}

// connFeatures are the features of the caller of one connection.
type connFeatures struct {
	features *callerFeatures
	place    *mcpserver.OwnerPlace // of the features, or nil
}

func newOwnFeatures() ownFeatures {
	return ownFeatures{
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
// counts the features to the owner of the connection. If there is no room, evict is called for those of
// the owner that has most, or set reports false.
func (o *ownFeatures) set(conn *link.Conn, now *callerFeatures, evict func()) bool {
	o.swap(conn, &connFeatures{features: now}).notifySession(conn.Session)
	if now.bytes == 0 {
		return true
	}
	place, err := o.pool.Take(conn.Owner, now.bytes, evict)
	if err != nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if own := o.byConn[conn]; own != nil {
		own.place = place
	} else {
		place.Release()
	}
	return true
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
