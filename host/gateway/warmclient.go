package gateway

import (
	"context"
	"encoding/json/jsontext"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const (
	// maxWarm limits the processes of one upstream that have answered lists and wait for a caller, and
	// warmTime is for how long each waits.
	maxWarm  = 4
	warmTime = 2 * time.Minute
)

// warmClient is a client of a program over which lists were read for callers with certain capabilities,
// and nothing else. The first call of such a caller takes it, so that no further process is started, and so
// does the next read of these lists.
type warmClient struct {
	capabilities link.Capabilities
	client       *mcpclient.Client
	rootsVersion int64 // of the roots of the configuration when it was connected

	mu      sync.Mutex // guards the fields below
	conn    *link.Conn // to which messages of the server belong: at first that of the list
	lent    bool
	changed bool          // the server has announced a change of its lists since they were read
	used    bool          // the server has sent something that a caller would miss, or has exited
	ended   chan struct{} // see beginKeeping; nil while it is not kept
}

// connFor returns the connection to which a message of the server belongs now, and whether it is that of a
// caller. A message that a caller would miss keeps every caller from getting the client afterwards.
func (w *warmClient) connFor(missed bool) (conn *link.Conn, lent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if missed && !w.lent && !w.used {
		w.used = true
		w.endLocked()
	}
	return w.conn, w.lent
}

// listsChanged notes that the server has announced a change, and returns the connection of the caller that has
// the client, or nil.
func (w *warmClient) listsChanged() *link.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.lent {
		w.changed = true
		return nil
	}
	return w.conn
}

// take gives the client to a connection, that of a caller or of a list, and reports false if nobody can have
// it. changed says that its lists may have changed since they were read.
func (w *warmClient) take(conn *link.Conn, lent bool) (changed, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.used {
		return false, false
	}
	changed = w.changed
	w.conn, w.lent, w.changed = conn, lent, false
	w.endLocked()
	return changed, true
}

// beginKeeping returns what is closed when somebody has taken the client, or nobody is to take it any more.
func (w *warmClient) beginKeeping() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended := make(chan struct{})
	if w.ended = ended; w.used {
		w.endLocked()
	}
	return ended
}

// drop keeps everybody from taking the client.
func (w *warmClient) drop() { w.connFor(true) }

// endLocked closes what beginKeeping has returned. The caller holds mu.
func (w *warmClient) endLocked() {
	if w.ended != nil {
		close(w.ended)
		w.ended = nil
	}
}

// warmClients are those of one upstream. Who removes one from the list closes its client, or uses it.
type warmClients struct {
	mu  sync.Mutex
	all []*keptClient // guarded by mu: the oldest first
}

// keptClient is a warm client while it is kept, which it may be several times.
type keptClient struct{ *warmClient }

// add adds a client. If there are too many, the oldest is dropped.
func (all *warmClients) add(w *warmClient) *keptClient {
	all.mu.Lock()
	defer all.mu.Unlock()
	kept := &keptClient{w}
	all.all = append(all.all, kept)
	for _, old := range all.all[:max(len(all.all)-maxWarm, 0)] {
		old.drop()
	}
	return kept
}

// take removes a client with certain capabilities and gives it to a connection, that of a caller or of a list.
// It returns nil if there is none.
func (all *warmClients) take(c link.Capabilities, conn *link.Conn, lent bool) (w *warmClient, changed bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for i, w := range all.all {
		if w.capabilities != c {
			continue
		}
		if changed, ok := w.take(conn, lent); ok {
			all.all = slices.Delete(all.all, i, i+1)
			return w.warmClient, changed
		}
	}
	return nil, false
}

// drop keeps everybody from taking one of them.
func (all *warmClients) drop() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, w := range all.all {
		w.drop()
	}
}

// remove removes a client, and reports false if somebody has taken it.
func (all *warmClients) remove(w *keptClient) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	i := slices.Index(all.all, w)
	if i < 0 {
		return false
	}
	all.all = slices.Delete(all.all, i, i+1)
	return true
}

// connectForLists connects to the upstream to read the lists for certain capabilities. The process of a
// program is kept for a while for the first call of a caller that has them.
func (u *upstream) connectForLists(ctx context.Context, c link.Capabilities, conn *link.Conn) (client *mcpclient.Client, keep func(), err error) {
	if !u.connector.isProgram() {
		o := u.clientOptions(conn)
		u.relay.DeclareCapabilities(o, c, func() *link.Conn { return conn })
		client, err = u.connect(ctx, conn, o)
		return client, nil, err
	}
	if w, _ := u.warm.take(c, conn, false); w != nil {
		err = u.admitWarm(ctx, w, conn)
		return w.client, func() { u.keep(w, conn) }, err
	}
	w := &warmClient{capabilities: c, conn: conn, rootsVersion: u.relay.RootsVersion()}
	if w.client, err = u.connect(ctx, conn, u.warmOptions(w)); err != nil {
		return nil, nil, err
	}
	return w.client, func() { u.keep(w, conn) }, nil
}

// warmOptions returns options of a client whose messages belong to the caller that takes it.
func (u *upstream) warmOptions(w *warmClient) *mcpclient.Options {
	o := u.connector.clientOptions()
	o.OnLimit = u.noteLimit
	o.OnEvent = func(_ context.Context, e mcpclient.Event) {
		conn, _ := w.connFor(e.Kind != mcpclient.EventConnected)
		u.relay.OnEvent(conn, e)
	}
	o.OnNotification = func(ctx context.Context, method string, params jsontext.Value) {
		conn, _ := w.connFor(false)
		u.relay.OnNotification(ctx, conn, method, params)
	}
	changed := func(context.Context, *mcpclient.Client) {
		if conn := w.listsChanged(); conn != nil {
			u.callerListsChanged(conn)
		}
	}
	o.OnToolsChanged, o.OnPromptsChanged, o.OnResourcesChanged = changed, changed, changed
	if u.connector.mayHaveSessions() {
		o.OnLog = func(ctx context.Context, m *mcp.LoggingMessageParams) {
			if conn, lent := w.connFor(false); lent && conn.Session != nil {
				u.relay.ForwardLog(ctx, conn, m)
			}
		}
	}
	u.relay.DeclareCapabilities(o, w.capabilities, func() *link.Conn {
		conn, _ := w.connFor(true)
		return conn
	})
	return o
}

// keep keeps a client until somebody takes it or its process exits, or for warmTime. The connection is that
// over which the lists were read.
func (u *upstream) keep(w *warmClient, conn *link.Conn) {
	ended := w.beginKeeping()
	kept := u.warm.add(w)
	if w.rootsVersion != u.relay.RootsVersion() { // as Reload does with those that are kept already
		w.drop()
	}
	end := func() {
		if u.warm.remove(kept) {
			conn.CloseClient(w.client)
		}
	}
	started := u.pool.Go(func(ctx context.Context) {
		defer end()
		timer := time.NewTimer(warmTime)
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C:
		case <-ctx.Done():
		}
	})
	if !started { // the pool was closed
		end()
	}
}

// admitWarm checks whether a process that was admitted when it was started still is, and closes its client if
// not. The connection has the client from now on.
func (u *upstream) admitWarm(ctx context.Context, w *warmClient, conn *link.Conn) error {
	id := w.client.ProcessID()
	conn.OnClose(func() { u.processes.remove(id) })
	_, err := u.gateway.options.admit(ctx, &u.Upstream)
	if err != nil {
		conn.CloseClient(w.client)
	}
	return err
}

// takeWarm returns a client for a connection of a caller if one is kept, or nil.
func (u *upstream) takeWarm(ctx context.Context, c link.Caller, conn *link.Conn) (*mcpclient.Client, error) {
	w, changed := u.warm.take(c.Capabilities, conn, true)
	if w == nil {
		return nil, nil
	}
	if err := u.admitWarm(ctx, w, conn); err != nil {
		return nil, err
	}
	if changed {
		u.callerListsChanged(conn)
	}
	return w.client, nil
}
