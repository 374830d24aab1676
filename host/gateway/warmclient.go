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
// and nothing else. The first call of such a caller takes it, so that no further process is started.
type warmClient struct {
	capabilities link.Capabilities
	client       *mcpclient.Client
	taken        chan struct{} // closed when a caller has taken it
	dropped      chan struct{} // closed when there are too many

	mu   sync.Mutex // guards the fields below
	conn *link.Conn // to which messages of the server belong: at first that of the list
	lent bool
	used bool // the server has sent something that a caller would miss
}

// connFor returns the connection to which a message of the server belongs now, and whether it is that of a
// caller. A message that a caller would miss keeps every caller from getting the client afterwards.
func (w *warmClient) connFor(missed bool) (conn *link.Conn, lent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used = w.used || missed && !w.lent
	return w.conn, w.lent
}

// lend gives the client to a caller, and reports false if it cannot.
func (w *warmClient) lend(conn *link.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.used {
		return false
	}
	w.conn, w.lent = conn, true
	return true
}

// warmClients are those of one upstream.
type warmClients struct {
	mu  sync.Mutex
	all []*warmClient // guarded by mu: the oldest first
}

// add adds a client. If there are too many, the oldest is dropped.
func (all *warmClients) add(w *warmClient) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.all) == maxWarm {
		close(all.all[0].dropped)
		all.all = all.all[1:]
	}
	all.all = append(all.all, w)
}

// take removes a client for a caller, or returns nil. It gives it to the caller.
func (all *warmClients) take(c link.Caller, conn *link.Conn) *warmClient {
	all.mu.Lock()
	defer all.mu.Unlock()
	for i, w := range all.all {
		if w.capabilities == c.Capabilities && w.lend(conn) {
			all.all = slices.Delete(all.all, i, i+1)
			close(w.taken)
			return w
		}
	}
	return nil
}

// remove removes a client that no caller has taken.
func (all *warmClients) remove(w *warmClient) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.all = slices.DeleteFunc(all.all, func(other *warmClient) bool { return other == w })
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
	w := &warmClient{capabilities: c, conn: conn, taken: make(chan struct{}), dropped: make(chan struct{})}
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
		if conn, lent := w.connFor(true); lent {
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

// keep keeps a client until a caller takes it, or for warmTime. The connection is that over which the
// lists were read.
func (u *upstream) keep(w *warmClient, conn *link.Conn) {
	u.warm.add(w)
	kept := u.pool.Go(func(ctx context.Context) {
		timer := time.NewTimer(warmTime)
		defer timer.Stop()
		select {
		case <-w.taken:
		case <-w.dropped:
		case <-timer.C:
		case <-ctx.Done():
		}
		u.warm.remove(w)
		select {
		case <-w.taken: // in the meantime
		default:
			conn.CloseClient(w.client)
		}
	})
	if !kept { // the pool was closed
		u.warm.remove(w)
		conn.CloseClient(w.client)
	}
}

// takeWarm returns a client for a connection of a caller if one is kept, or nil. Its process was admitted
// when it was started, and has to be admitted still.
func (u *upstream) takeWarm(ctx context.Context, c link.Caller, conn *link.Conn) (*mcpclient.Client, error) {
	w := u.warm.take(c, conn)
	if w == nil {
		return nil, nil
	}
	conn.OnClose(func() { u.processes.Add(-1) })
	if _, err := u.gateway.options.admit(ctx, &u.Upstream); err != nil {
		conn.CloseClient(w.client)
		return nil, err
	}
	return w.client, nil
}
