package link

import (
	"context"
	"errors"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Lease keeps a ready connection from becoming idle until it is released.
type Lease struct {
	Client    *mcpclient.Client
	conn      *Conn
	call      *Call  // that was added to the connection, or nil
	onRemoved func() // called after the call was removed
	shared    *Conn  // the shared connection of the upstream
}

// lease waits until the connection is ready and returns a lease of it. It fails if the
// connection will not be ready soon.
func (c *Conn) lease(ctx context.Context, w Waiter) (Lease, error) {
	c.uses.addLease()
	client, err := c.waitReady(ctx, w)
	if err != nil {
		c.uses.removeLease()
	}
	return Lease{conn: c, Client: client}, err
}

// waitReady returns the client when the connection is ready, which is mostly at once.
func (c *Conn) waitReady(ctx context.Context, w Waiter) (*mcpclient.Client, error) {
	client, moved, err := c.state.tryClient()
	if client != nil || err != nil {
		return client, err
	}
	limit := time.NewTimer(c.waitLimit(ctx))
	defer limit.Stop()
	report := time.NewTicker(StartReportInterval)
	defer report.Stop()
	for client == nil && err == nil {
		signal(c.wakeSignal)
		select {
		case <-moved:
			client, moved, err = c.state.tryClient()
		case <-report.C:
			if w != nil {
				w.ReportStart()
			}
		case <-limit.C:
			return nil, &NotReadyError{host.Starting, "the start has not ended while the call waited"}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return client, err
}

// Hold starts an idle connection, and keeps it from becoming idle until release is called.
func (c *Conn) Hold() (release func()) {
	c.uses.addLease()
	signal(c.wakeSignal)
	return c.uses.removeLease
}

// Release ends the lease. If err says that the connection is lost, no new lease gets the
// client until Run has checked it.
func (l Lease) Release(err error) {
	if _, lost := errors.AsType[*mcpclient.LostError](err); lost && l.conn.state.withdraw(l.Client) {
		l.conn.reportLoss(err) // the client reports the loss of a connection, but not that of one stream
	}
	if scopes := missingScopes(err); len(scopes) > 0 {
		l.shared.AddMissingScopes(scopes)
	} else if WantsCredentials(err) {
		l.conn.state.withdraw(l.Client)
		l.conn.reportLoss(err)
		l.shared.state.withdraw(nil) // it uses the same token
		l.shared.reportLoss(err)
	}
	if l.call != nil && l.call.Request.Session() == nil && l.call.mayStillRun(err) && !l.Stateless() {
		l.addCancelled()
	}
	l.removeCall()
	l.conn.uses.removeLease()
}

// addCancelled notes that the call was cancelled while the server may still work on it. An extra
// connection keeps no state and is closed.
func (l Lease) addCancelled() {
	l.conn.calls.addCancelled(l.call)
	if l.conn.Kind == Extra {
		l.conn.Close()
	}
}

// removeCall removes the call from the connection, if there is one.
func (l Lease) removeCall() {
	if l.call != nil {
		l.conn.calls.remove(l.call, &l.conn.uses)
		l.onRemoved()
	}
}

// EndCall removes the call from the connection before the lease ends.
func (l *Lease) EndCall() {
	l.removeCall()
	l.call = nil
}

// EndError returns the error of a call at the upstream that ended with err.
func (l Lease) EndError(err error) error { return l.conn.state.endError(err) }

// IsFirstCall reports whether this is the first call that was answered since the connection
// is ready.
func (l Lease) IsFirstCall() bool { return l.conn.calls.isFirst() }

// Stateless reports whether the server speaks the stateless revision.
func (l Lease) Stateless() bool { return l.Client.Revision().Stateless() }

// LogsBelongToCall reports whether log messages that arrive during a call are certainly
// for its caller. In a session they do not name their call, so on a shared connection
// they may belong to another one.
func (l Lease) LogsBelongToCall() bool {
	return l.Client.Capabilities().Logging != nil && (l.conn.Kind != Shared || l.Stateless())
}

// RaiseLogLevel asks the server for log messages of a level unless it already sends them.
func (l Lease) RaiseLogLevel(ctx context.Context, level mcp.LoggingLevel) {
	if err := l.conn.logLevels.raise(ctx, l.Client, level); err != nil {
		l.conn.Log.Info("logging: cannot set the level of the upstream", "error", err)
	}
}
