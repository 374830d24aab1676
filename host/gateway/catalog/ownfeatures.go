package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// ownFeatures are the features of one upstream that only the callers of some connections have, until
// the connection is lost.
type ownFeatures struct {
	source *Source
	pool   *mcpserver.OwnerPool // of the bytes that one caller has

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
	o.source.Log.Warn("features for one caller are left out, because those of all callers are too large", "limit bytes", maxCatalog)
	o.drop(conn)
}

// requestReads requests a new read of the lists of caller connections that have features of
// their own. It is called after the shared lists have changed: a feature that is in the shared lists
// now is no longer one of a single caller. For a program it does nothing, because each connection has
// a process with lists of its own.
func (o *ownFeatures) requestReads() {
	if o.source.Program {
		return
	}
	for conn, own := range o.all() {
		if own.set.Len() > 0 {
			conn.RequestRefresh()
		}
	}
}

// refilter filters the features again, after an approval.
func (o *ownFeatures) refilter() {
	for conn, before := range o.all() {
		if now := o.source.refiltered(before, conn); now != nil && o.replace(conn, before, now) {
			before.changedTo(now).notifySession(conn.Session)
		}
	}
}

// ReadOwn lists the features of a caller's connection. If a list cannot be read, the
// connection keeps those that it has. A read that waits too long for others is repeated later. It
// returns when the read began, or zero if it did not.
func (s *Source) ReadOwn(ctx context.Context, client *mcpclient.Client, c link.Caller, conn *link.Conn) (began time.Time) {
	err := s.reads.run(ctx, conn.Owner, time.After(listTimeout), func(ctx context.Context) error {
		began = time.Now()
		before := s.own.of(conn)
		listed, err := readCatalog(ctx, client, before.catalog())
		if err != nil {
			return err
		}
		for _, reason := range slices.Concat(listed.omitted, listed.leftOut) {
			s.Log.Warn("cannot list features of a caller's connection", "reason", reason)
		}
		now, err := s.newCallerFeatures(ctx, listed, s.knownFeatures(c.Capabilities), before, host.Listing{Session: true, Initial: s.initialListsOf(c.Capabilities)}, conn)
		if err != nil {
			return fmt.Errorf("comparing the definitions with the approved ones: %w", err)
		}
		s.own.set(conn, now)
		return nil
	})
	switch {
	case errors.Is(err, errManyReads):
		conn.RequestRefresh()
	case err != nil:
		s.Log.Warn("cannot list the features of a caller's connection", "error", link.RecordedText(err))
	}
	return began
}

// DropOwn removes the features of a caller's connection that was lost.
func (s *Source) DropOwn(conn *link.Conn) { s.own.drop(conn) }
