package link

import (
	"context"
	"errors"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// loop is the state of the goroutine that makes the transitions of a connection.
type loop struct {
	*Conn
	backoff backoff
	// lastFailure says why the attempt before has failed, or is empty.
	lastFailure string
	// listedAt is Conn.sessionsLost when the last read of the lists began, or -1 before the first read
	// since the server was connected to.
	listedAt int64
}

// run connects and reconnects until ctx is done, or a connection that is not shared is unused.
func (l *loop) run(ctx context.Context) {
	defer l.cancel()
	defer l.state.close()
	for l.waitToStart(ctx) {
		select {
		case <-l.readmitSignal: // of an earlier connection
		default:
		}
		l.setState(host.Starting, l.lastFailure, time.Time{}) // a start may take minutes
		client, err := l.Connect(ctx, l.Conn)
		began := time.Now()
		if err == nil {
			err = l.serve(ctx, client)
		}
		l.recordEnd(err, time.Since(began))
		if client != nil {
			l.CloseClient(client)
		}
		if l.OnLost != nil {
			l.OnLost(l.Conn)
		}
	}
}

// waitToStart waits until it is time to connect. It reports false when the connection is
// to be closed.
func (l *loop) waitToStart(ctx context.Context) bool {
	for {
		state, due := l.state.nextStart(l.Kind)
		var timer <-chan time.Time
		switch {
		case ctx.Err() != nil:
			return false
		case state == host.Starting:
			return true
		case !due.IsZero():
			timer = time.After(time.Until(due))
		}
		select {
		case <-ctx.Done():
			return false
		case <-l.restartSignal:
			l.backoff = backoff{}
			return true
		case <-l.wakeSignal:
			if state == host.Idle && l.uses.isLeased() { // otherwise the token is stale
				return true
			}
		case <-timer:
			if state == host.Idle {
				return false
			}
			if l.Kind == Shared || l.uses.isLeased() {
				return true
			}
			l.setState(host.Idle, "", time.Time{})
		}
	}
}

// serve makes the client available to leases until the connection is lost, which is an error, or
// unused, which is no error.
func (l *loop) serve(ctx context.Context, client *mcpclient.Client) error {
	l.listedAt = -1
	if err := l.readInitialLists(ctx, client); err != nil {
		return err
	}
	l.setReady(client)
	unused := time.NewTimer(l.IdleTimeout)
	defer unused.Stop()
	if l.IdleTimeout == 0 {
		unused.Stop()
	}
	var pace RefreshPace
	var reading <-chan FeatureRead // gets the outcome of a read of features; nil if none runs
	readCtx, stopReading := context.WithCancel(ctx)
	defer func() {
		stopReading()
		if reading != nil {
			<-reading
		}
	}()
	for {
		listsChanged, wait := l.refreshes.changed, (<-chan time.Time)(nil)
		if reading != nil {
			listsChanged = nil
		} else if rest := l.refreshes.restBeforeRead(&pace); rest > 0 {
			listsChanged, wait = nil, time.After(rest)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wait:
		case <-l.refreshes.awaited:
		case err := <-l.lost:
			if client.Ping(ctx, mcpclient.WithTimeout(pingTimeout)) != nil {
				return err
			}
			l.setReady(client) // which may have opened a new session
			l.refreshes.request()
		case <-l.readmitSignal:
			return errReadmit
		case <-l.statusChanged:
			l.OnStateChange()
		case <-l.logLevels.changed:
			if err := l.logLevels.relay(ctx, client); err != nil {
				l.Log.Info("logging: cannot set the level of the upstream", "error", err)
			}
		case read := <-reading:
			if reading = nil; !read.Began.IsZero() {
				l.notePace(&pace, read)
			}
		case <-listsChanged:
			if l.ReadFeatures != nil {
				reading = l.beginFeatureRead(readCtx, client)
				continue
			}
			began := time.Now()
			equal, err := l.refresh(ctx, client)
			if err != nil {
				return err
			}
			l.notePace(&pace, FeatureRead{began, equal})
		case <-unused.C:
			rest := l.state.idleIfUnused(&l.uses, l.IdleTimeout)
			if rest <= 0 {
				return nil
			}
			unused.Reset(rest)
		}
	}
}

// ownRetry is after how long a connection of a caller that needs an approval is checked again if it is used.
const ownRetry = 2 * time.Second

// errReadmit ends a connection that is to pass the checks of a start again.
var errReadmit = errors.New("a root did not lead where it was approved; its approval is checked again")

// readInitialLists reads the lists before the connection is ready.
func (l *loop) readInitialLists(ctx context.Context, client *mcpclient.Client) error {
	if l.ReadLists == nil {
		return nil
	}
	_, err := l.refresh(ctx, client)
	return err
}

// notePace notes the outcome of a read of the lists.
func (l *loop) notePace(pace *RefreshPace, read FeatureRead) {
	pace.Read(read.Began, read.Equal)
	l.equalPause.Store(int64(pace.equal))
}

// refresh reads the lists, and reports whether they are as they were.
func (l *loop) refresh(ctx context.Context, client *mcpclient.Client) (equal bool, err error) {
	begun := time.Now()
	defer func() { l.refreshes.ended(time.Since(begun)) }()
	if l.ReadLists == nil {
		return false, nil
	}
	lost := l.sessionsLost.Load()
	started := func() bool { return l.listedAt != l.sessionsLost.Load() }
	if equal, err = l.ReadLists(ctx, client, started); err == nil {
		l.listedAt = lost
	}
	return equal, err
}

// beginFeatureRead reads the features of the connection's caller, while serve sees whether the
// connection is lost. The channel gets its outcome after it has ended.
func (l *loop) beginFeatureRead(ctx context.Context, client *mcpclient.Client) <-chan FeatureRead {
	ended := make(chan FeatureRead, 1)
	go func() {
		read, took := l.ReadFeatures(ctx, client, l.Conn), time.Duration(0)
		if !read.Began.IsZero() {
			took = time.Since(read.Began)
		}
		l.refreshes.ended(took)
		ended <- read
	}()
	return ended
}

// setReady makes the client, which may have a new session, available to leases.
func (l *loop) setReady(client *mcpclient.Client) {
	l.logLevels.reset(client)
	l.uses.touch()
	l.calls.reset()
	select {
	case <-l.restartSignal: // the requested start has happened
	default:
	}
	l.failed.Store(false)
	l.state.setReady(client)
	l.notifyState()
}

// setState changes the state to one in which there is no client.
func (l *loop) setState(state host.State, reason string, retry time.Time) {
	l.state.set(state, reason, retry)
	l.notifyState()
}

func (l *loop) notifyState() {
	if l.OnStateChange != nil {
		l.OnStateChange()
	}
}

// recordEnd sets the state after a connection has ended or could not be made.
func (l *loop) recordEnd(err error, lasted time.Duration) {
	l.lastFailure = ""
	switch {
	case err == nil:
		l.setState(host.Idle, "", time.Time{})
	case errors.Is(err, host.ErrNeedsApproval):
		var retry time.Time
		if l.Kind != Shared { // all may be as approved again, and the shared one, for which the user is asked, may never have waited
			retry = time.Now().Add(ownRetry)
		}
		l.setState(host.NeedsApproval, err.Error(), retry)
	case WantsKey(err): // the server may be the one that is wrong, and no sign-in says when it is right
		l.state.setWantsKey(err.Error(), time.Now().Add(suspendedPause))
		l.notifyState()
	case WantsCredentials(err):
		l.setState(host.NeedsSignIn, err.Error(), time.Time{})
	default:
		pause, suspended := l.backoff.add(time.Now(), lasted)
		if errors.Is(err, errReadmit) && l.backoff.consecutive == 1 { // without a pause, unless it happens again soon
			l.setState(host.Starting, "", time.Time{})
			return
		}
		state := host.Failed
		if suspended {
			state = host.Suspended
		}
		l.failed.Store(true)
		l.lastFailure = "the last attempt: " + err.Error()
		l.setState(state, err.Error(), time.Now().Add(pause))
	}
}
