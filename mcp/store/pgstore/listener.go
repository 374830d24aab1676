package pgstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

const (
	// healthInterval is the time without messages after which the listening connection is
	// checked. With checkTimeout it bounds the time until a lost connection is found.
	healthInterval = 2 * time.Second
	// minRetry and maxRetry bound the pause before the next attempt to connect.
	minRetry = 50 * time.Millisecond
	maxRetry = time.Second
	// maxFailures is the number of failures of the connection after which Subscribe fails. The
	// first of them may be that of a connection that was lost before.
	maxFailures = 2
	// listenBatch is the number of channels in one statement.
	listenBatch = 500
)

// listener has the connection that listens to the channels of the subscriptions. One goroutine, run,
// uses the connection. Subscribe and cancel change what is wanted, and interrupt it.
type listener struct {
	store    *Store
	config   *pgx.ConnConfig
	password func(context.Context) (string, error)
	verified bool // used by run: notifications have arrived on a connection of this server

	mu        sync.Mutex
	closed    bool
	wanted    map[string]*subscription // by channel
	active    map[string]bool          // the channels that the connection listens to; true: for those who wait for it now
	stale     map[string]bool          // the channels whose LISTEN or UNLISTEN may be missing
	changed   chan struct{}            // closed after a change of active or failure
	failure   error                    // why there is no connection, or nil
	failures  int                      // how often there was a failure
	interrupt context.CancelFunc       // ends the wait for a notification
}

// subscription is the subscribers of one channel.
type subscription struct {
	subscribers map[*exchange.Dispatcher[[]byte]]bool // guarded by listener.mu
	parts       assembly                              // used by run
}

func newListener(s *Store, config *pgx.ConnConfig, password func(context.Context) (string, error)) *listener {
	return &listener{
		store: s, config: config, password: password,
		wanted: make(map[string]*subscription), active: make(map[string]bool),
		stale: make(map[string]bool), changed: make(chan struct{}), interrupt: func() {},
	}
}

// Subscribe implements mcp.Bus. It fails if PostgreSQL does not confirm the subscription within 5
// seconds, or if two attempts to connect fail.
func (s *Store) Subscribe(ctx context.Context, topic string, deliver func(msg []byte)) (cancel func(), err error) {
	if err := checkTopic(topic); err != nil {
		return nil, fmt.Errorf("pgstore: subscribe: %w", err)
	}
	l, channel := s.listener, s.channel(topic)
	d := exchange.NewDispatcher(deliver)
	cancel = func() { l.remove(channel, d) }
	if err := l.add(channel, d); err != nil {
		return nil, fmt.Errorf("pgstore: subscribe: %w", err)
	}
	if err := l.await(ctx, channel); err != nil {
		cancel()
		return nil, fmt.Errorf("pgstore: subscribe: %w", err)
	}
	return cancel, nil
}

func (l *listener) add(channel string, d *exchange.Dispatcher[[]byte]) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	if l.wanted[channel] == nil {
		l.wanted[channel] = &subscription{subscribers: make(map[*exchange.Dispatcher[[]byte]]bool)}
		l.stale[channel] = true
		l.interrupt()
	}
	l.wanted[channel].subscribers[d] = true
	return nil
}

// remove ends a subscription and waits for its function. It may be called again.
func (l *listener) remove(channel string, d *exchange.Dispatcher[[]byte]) {
	l.mu.Lock()
	if sub := l.wanted[channel]; sub != nil {
		delete(sub.subscribers, d)
		if len(sub.subscribers) == 0 {
			delete(l.wanted, channel)
			l.deactivateLocked(channel)
			l.stale[channel] = true
			l.interrupt()
		}
	}
	l.mu.Unlock()
	d.Close()
}

// deactivateLocked has later subscribers of a channel wait for another LISTEN: what was published
// before may still arrive, and is not for them. The caller holds mu.
func (l *listener) deactivateLocked(channel string) {
	if l.active[channel] {
		l.active[channel] = false
	}
}

// await waits until the connection listens to a channel.
func (l *listener) await(ctx context.Context, channel string) error {
	callCtx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	l.mu.Lock()
	failures := l.failures
	l.mu.Unlock()
	for {
		l.mu.Lock()
		active, changed, failure, closed := l.active[channel], l.changed, l.failure, l.closed
		failed := l.failures - failures
		l.mu.Unlock()
		switch {
		case closed:
			return errClosed
		case active:
			return nil
		case failed >= maxFailures:
			return failure
		}
		select {
		case <-changed:
		case <-callCtx.Done():
			if failure != nil {
				return fmt.Errorf("%w: %w", callCtx.Err(), failure)
			}
			return fmt.Errorf("no answer from PostgreSQL: %w", callCtx.Err())
		}
	}
}

// close ends all subscriptions after run has returned.
func (l *listener) close() {
	l.mu.Lock()
	l.closed = true
	wanted := l.wanted
	l.wanted = nil
	l.broadcastLocked()
	l.mu.Unlock()
	for _, sub := range wanted { // which nobody else changes any more
		for d := range sub.subscribers {
			d.Close()
		}
	}
}

// disconnected says that there is no connection, and why.
func (l *listener) disconnected(failure error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.active)
	for channel := range l.wanted {
		l.stale[channel] = true
	}
	l.failure = failure
	l.failures++
	l.broadcastLocked()
}

// broadcastLocked wakes the calls that wait in await. The caller holds mu.
func (l *listener) broadcastLocked() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// run connects, and connects again when the connection fails, until ctx ends. It connects when there
// is a first subscription.
func (l *listener) run(ctx context.Context) {
	if !l.idle(ctx) {
		return
	}
	retry := minRetry
	for lost := false; ctx.Err() == nil; {
		conn, err := l.connect(ctx)
		if err == nil {
			if lost {
				l.store.logger.InfoContext(ctx, "pgstore: subscriptions are renewed")
			}
			lost, retry = false, minRetry
			err = l.serve(ctx, conn)
			closeNow(conn)
		}
		if ctx.Err() != nil {
			return
		}
		err = explain(err)
		l.disconnected(err)
		if !lost {
			lost = true
			l.store.logger.WarnContext(ctx, "pgstore: subscriptions are interrupted; messages are lost until they are renewed", "error", err)
		}
		pause(ctx, retry)
		retry = min(2*retry, maxRetry)
	}
}

// idle waits for the first subscription. It reports false when ctx ended.
func (l *listener) idle(ctx context.Context) bool {
	waitCtx, interrupt := context.WithCancel(ctx)
	defer interrupt()
	l.mu.Lock()
	if len(l.wanted) > 0 {
		interrupt()
	}
	l.interrupt = interrupt
	l.mu.Unlock()
	<-waitCtx.Done()
	return ctx.Err() == nil
}

// closeNow closes a connection without waiting for the server.
func closeNow(conn *pgx.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = conn.Close(ctx)
}

// connect opens a connection and, the first time, checks that notifications arrive on it.
func (l *listener) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	config := l.config.Copy()
	if l.password != nil {
		password, err := l.password(ctx)
		if err != nil {
			return nil, err
		}
		config.Password = password
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := prepareSession(ctx, conn); err != nil {
		closeNow(conn)
		return nil, err
	}
	if !l.verified {
		if err := l.verify(ctx, conn); err != nil {
			closeNow(conn)
			return nil, err
		}
		l.verified = true
	}
	return conn, nil
}

// errNoNotification is the error of a connection that gets no notifications.
var errNoNotification = errors.New("no notification arrives on the connection that listens: if the URL is that of a pooler in transaction mode, such as PgBouncer with pool_mode=transaction, want the URL of PostgreSQL itself or of a pooler in session mode")

// verify sends a notification on another connection, and waits for it. Poolers in transaction mode
// confirm LISTEN, but deliver nothing.
func (l *listener) verify(ctx context.Context, conn *pgx.Conn) error {
	channel := l.store.channel(" " + rand.Text()) // no topic has a space
	if _, err := conn.Exec(ctx, "LISTEN "+quote(channel)); err != nil {
		return err
	}
	if _, err := l.store.pool.Exec(ctx, l.store.statements.publish, channel, []string{""}); err != nil {
		return err
	}
	waitCtx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if _, err := conn.WaitForNotification(waitCtx); err != nil {
		if waitCtx.Err() != nil {
			return errNoNotification
		}
		return err
	}
	_, err := conn.Exec(ctx, "UNLISTEN "+quote(channel))
	return err
}

// serve listens to the channels that are wanted and delivers messages, until the connection fails
// or ctx ends.
func (l *listener) serve(ctx context.Context, conn *pgx.Conn) error {
	for ctx.Err() == nil {
		waitCtx, cancel, add, drop := l.plan(ctx)
		var err error
		if len(add)+len(drop) > 0 {
			err = l.listen(ctx, conn, add, drop)
		} else {
			err = l.receive(ctx, waitCtx, conn)
		}
		cancel()
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// plan returns the channels to listen to and those to drop, at most listenBatch together. If there
// are none, a later change ends the context that it returns, as does healthInterval. A channel that
// is dropped is not active from now on, so that a new subscription waits for another LISTEN.
func (l *listener) plan(ctx context.Context) (waitCtx context.Context, cancel context.CancelFunc, add, drop []string) {
	waitCtx, cancel = context.WithTimeout(ctx, healthInterval)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.interrupt = cancel
	for channel := range l.stale {
		active, listens := l.active[channel]
		switch wanted := l.wanted[channel] != nil; {
		case wanted && active, !wanted && !listens:
		case len(add)+len(drop) == listenBatch:
			return waitCtx, cancel, add, drop
		case wanted:
			add = append(add, channel)
		default:
			drop = append(drop, channel)
			delete(l.active, channel)
		}
		delete(l.stale, channel)
	}
	return waitCtx, cancel, add, drop
}

// listen listens to channels and drops others.
func (l *listener) listen(ctx context.Context, conn *pgx.Conn, add, drop []string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var sql strings.Builder
	for _, channel := range drop {
		sql.WriteString("UNLISTEN " + quote(channel) + ";")
	}
	for _, channel := range add {
		sql.WriteString("LISTEN " + quote(channel) + ";")
	}
	if _, err := conn.Exec(ctx, sql.String(), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	l.deliverReceived(conn)
	l.listening(add)
	return nil
}

// deliverReceived delivers the notifications that came before the answer to LISTEN. New subscribers
// do not get them.
func (l *listener) deliverReceived(conn *pgx.Conn) {
	ended, end := context.WithCancel(context.Background())
	end()
	for {
		n, err := conn.WaitForNotification(ended)
		if err != nil {
			return
		}
		l.deliver(n)
	}
}

// listening says that the connection listens to channels.
func (l *listener) listening(channels []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, channel := range channels {
		l.active[channel] = true
	}
	l.failure = nil
	l.broadcastLocked()
}

// receive delivers messages until waitCtx ends or the connection fails. If healthInterval has
// passed, it checks the connection.
func (l *listener) receive(ctx, waitCtx context.Context, conn *pgx.Conn) error {
	for {
		n, err := conn.WaitForNotification(waitCtx)
		if n != nil {
			l.deliver(n)
		}
		switch {
		case err == nil:
		case conn.IsClosed() || waitCtx.Err() == nil:
			return err
		case errors.Is(waitCtx.Err(), context.DeadlineExceeded):
			checkCtx, cancel := context.WithTimeout(ctx, checkTimeout)
			defer cancel()
			return conn.Ping(checkCtx)
		default:
			return nil
		}
	}
}

func (l *listener) deliver(n *pgconn.Notification) {
	l.mu.Lock()
	sub, active := l.wanted[n.Channel], l.active[n.Channel]
	l.mu.Unlock()
	if sub == nil || !active {
		return
	}
	msg, complete := sub.parts.add(n.Payload)
	if !complete {
		return
	}
	l.mu.Lock()
	subscribers := make([]*exchange.Dispatcher[[]byte], 0, len(sub.subscribers))
	for d := range sub.subscribers {
		subscribers = append(subscribers, d)
	}
	l.mu.Unlock()
	for _, d := range subscribers {
		d.Put(bytes.Clone(msg), len(msg))
	}
}
