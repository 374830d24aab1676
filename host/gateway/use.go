package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// lease is the use of a line that is ready.
type lease struct {
	*line
	client *mcpclient.Client
	call   *call  // that has joined the line, or nil
	freed  func() // tells that it has left
	house  *line  // of the upstream
}

// use waits until the line is ready, and keeps it from idling until the lease is
// done. A line that will not be ready soon is an error.
func (l *line) use(ctx context.Context) (lease, error) {
	l.enter()
	client, err := l.await(ctx)
	if err != nil {
		l.leave()
	}
	return lease{line: l, client: client}, err
}

// done ends the use. Who has met a lost connection lets nobody else run into it:
// the others wait until run has looked at it.
func (u lease) done(err error) {
	if _, lost := errors.AsType[*mcpclient.LostError](err); lost {
		u.suspect(u.client)
	}
	if errors.Is(err, mcpauth.ErrSignInRequired) {
		u.suspect(u.client)
		u.doubt(err)
		u.house.suspect(nil) // which has the same token
		u.house.doubt(err)
	}
	if u.call != nil && u.call.request.Session() == nil && u.call.givenUp(err) && !u.stateless() {
		u.quit()
	}
	u.drop()
	u.leave()
}

// drop ends what the call has joined.
func (u lease) drop() {
	if u.call != nil {
		u.part(u.call)
		u.freed()
	}
}

// join notes that the server may ask in a call, if there is one. It reports false
// when the call wants to be alone and is not.
func (l *line) join(c *call, alone bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c == nil:
		return true
	case alone && len(l.calls) > 0:
		return false
	}
	l.calls = append(l.calls, c)
	close(l.joined)
	l.joined = make(chan struct{})
	return true
}

// quit ends the line. A server may still ask in a call that was given up, which
// nobody could tell from a question in the next one.
func (l *line) quit() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.stop()
}

func (l *line) part(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = slices.DeleteFunc(l.calls, func(other *call) bool { return other == c })
}

// isFirst reports whether no other call on the connection has come so far.
func (l *line) isFirst() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.called
	l.called = true
	return first
}

// stateless reports whether the server is one of the stateless era.
func (u lease) stateless() bool { return u.client.Revision() == mcp.V20260728 }

// await waits for the client, which mostly is there.
func (l *line) await(ctx context.Context) (*mcpclient.Client, error) {
	client, moved, err := l.look()
	if client != nil || err != nil {
		return client, err
	}
	enough := time.NewTimer(patience)
	defer enough.Stop()
	for client == nil && err == nil {
		l.wake()
		select {
		case <-moved:
			client, moved, err = l.look()
		case <-enough.C:
			return nil, fmt.Errorf("not connected after %v", patience)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return client, err
}

// look returns the client, or why there will be none soon, or what to wait for.
func (l *line) look() (*mcpclient.Client, <-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over:
		return nil, nil, errOver
	case l.state == host.Ready:
		return l.client, nil, nil
	case l.state == host.NeedsSignIn:
		return nil, nil, fmt.Errorf("%w: %s", mcpauth.ErrSignInRequired, l.reason)
	case l.state == host.NeedsApproval, l.state == host.Parked, l.state == host.Failed && time.Until(l.retry) > soon:
		return nil, nil, errors.New(string(l.state) + ": " + l.reason)
	}
	return nil, l.moved, nil
}

func (l *line) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users++
}

func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	l.lastUsed = time.Now()
}

// suspect lets nobody have a client whose connection seems lost, until run has looked
// at it. Nil is whichever the line has.
func (l *line) suspect(client *mcpclient.Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == host.Ready && (client == nil || l.client == client) {
		l.move(host.Starting, "", time.Time{})
	}
}

// logsForOne reports whether log messages that come with a call are certainly for
// its caller. In a session they do not name their call, so on a line that several
// share nobody can tell.
func (u lease) logsForOne() bool {
	shared := u.kept
	return u.client.Capabilities().Logging != nil && (!shared || u.stateless())
}

// wantLog has the server of a client log at a level, if it does not log as much
// already. In the stateless era each call says what it wants.
func (u lease) wantLog(ctx context.Context, level mcp.LoggingLevel) {
	u.mu.Lock()
	enough := u.logged != "" && level.Severity() <= u.logged.Severity()
	if !enough && u.line.client == u.client {
		u.logged = level
	}
	u.mu.Unlock()
	if enough {
		return
	}
	if err := u.client.SetLogLevel(ctx, level); err != nil {
		u.log.Info("upstream does not log as its caller wants", "error", err)
	}
}

func (l *line) inUse() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.users > 0
}

// current returns the state, and a channel that is closed when it changes.
func (l *line) current() (host.State, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, l.moved
}

// ready lets callers have the client.
func (l *line) ready(client *mcpclient.Client) {
	l.mu.Lock()
	l.client, l.lastUsed, l.called = client, time.Now(), false
	l.mu.Unlock()
	select {
	case <-l.again: // has come true
	default:
	}
	l.become(host.Ready, "", time.Time{})
}

// forgetLog notes that the server has begun anew.
func (l *line) forgetLog() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logged = ""
}

// retire makes a line idle that was unused for long enough, so that nobody gets
// its client any more. Otherwise it returns how long to wait.
func (l *line) retire() (rest time.Duration) {
	l.mu.Lock()
	switch {
	case l.users > 0:
		rest = l.idle
	default:
		rest = l.idle - time.Since(l.lastUsed)
	}
	if rest <= 0 {
		l.move(host.Idle, "", time.Time{})
	}
	l.mu.Unlock()
	return rest
}

// become changes the state, and tells whoever wants to know of it.
func (l *line) become(state host.State, reason string, retry time.Time) {
	l.mu.Lock()
	l.move(state, reason, retry)
	l.mu.Unlock()
	if l.tell != nil {
		l.tell()
	}
}

// move changes the state. The caller holds mu.
func (l *line) move(state host.State, reason string, retry time.Time) {
	l.state, l.reason, l.retry = state, reason, retry
	if state != host.Ready {
		l.client = nil
	}
	close(l.moved)
	l.moved = make(chan struct{})
}

// finish notes that run has ended.
func (l *line) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.move(host.Idle, "", time.Time{})
}

func (l *line) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// describe fills in the part of a status that is the line's.
func (l *line) describe(s *host.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.State, s.Reason, s.Retry = l.state, l.reason, l.retry
}
