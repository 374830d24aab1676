package link

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// state is the state of a connection, and its client while it is ready.
type state struct {
	mu       sync.Mutex // guards the fields below
	now      host.State
	reason   string
	retry    time.Time // next attempt when failed or suspended
	client   *mcpclient.Client
	changed  chan struct{} // closed at the next change of state
	wantsKey bool          // the server wants another key, when a sign-in is needed
	missing  []string      // see host.Status.MissingScopes; not changed, but replaced
	closed   bool          // Run has ended, or is about to
	cause    error         // of the calls that end with the connection, or nil
}

func newState(lazy bool) state {
	now := host.Starting
	if lazy {
		now = host.Idle
	}
	return state{now: now, changed: make(chan struct{})}
}

// errClosed is the error of a lease of a closed connection. The caller may start another one.
var errClosed = errors.New("the connection is closed")

// NotReadyError is the error of a call for which there is no connection. The reason is for
// the operator: it may have command lines, paths and standard error.
type NotReadyError struct {
	State  host.State
	Reason string
}

func (e *NotReadyError) Error() string { return string(e.State) + ": " + e.Reason }

// current returns the state, and a channel that is closed when it changes.
func (s *state) current() (host.State, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.changed
}

// nextStart returns the state and the time of the next transition, which is zero if no time is set.
func (s *state) nextStart(k Kind) (host.State, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == host.Idle && k != Shared {
		return s.now, time.Now().Add(failureWindow) // the failures count until then
	}
	return s.now, s.retry
}

// tryClient returns the client, or an error if there will be none soon, or a channel to
// wait for.
func (s *state) tryClient() (*mcpclient.Client, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, nil, errClosed
	case s.now == host.Ready:
		return s.client, nil, nil
	case s.now == host.NeedsSignIn:
		return nil, nil, fmt.Errorf("%w: %s", mcpauth.ErrSignInRequired, s.reason)
	case !s.now.TakesCalls(), s.now == host.Failed && time.Until(s.retry) > MaxRetryWait:
		return nil, nil, &NotReadyError{s.now, s.reason}
	}
	return nil, s.changed, nil
}

// set changes the state to one in which there is no client.
func (s *state) set(now host.State, reason string, retry time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(now, reason, retry, nil)
}

// setWantsKey changes the state to one in which the server wants another key.
func (s *state) setWantsKey(reason string, retry time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(host.NeedsSignIn, reason, retry, nil)
	s.wantsKey = true
}

// addMissing adds scopes that a call has lacked, and reports whether they are new.
func (s *state) addMissing(scopes []string) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.missing)
	for _, scope := range scopes {
		if len(all) < host.MaxMissingScopes && !slices.Contains(all, scope) {
			all, changed = append(all, scope), true
		}
	}
	s.missing = all
	return changed
}

// clearMissing forgets the scopes that calls have lacked, and reports whether there were any.
func (s *state) clearMissing() (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = s.missing != nil
	s.missing = nil
	return changed
}

// setReady makes the client available to leases.
func (s *state) setReady(client *mcpclient.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(host.Ready, "", time.Time{}, client)
}

// setLocked changes the state. The caller holds mu.
func (s *state) setLocked(now host.State, reason string, retry time.Time, client *mcpclient.Client) {
	s.now, s.reason, s.retry, s.client, s.wantsKey = now, host.CutText(reason, MaxReason), retry, client, false
	close(s.changed)
	s.changed = make(chan struct{})
}

// withdraw keeps new leases from getting the client until Run has checked its connection. Nil
// stands for the current client. It reports false if leases do not get the client any more.
func (s *state) withdraw(client *mcpclient.Client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != host.Ready || client != nil && s.client != client {
		return false
	}
	s.setLocked(host.Starting, "", time.Time{}, nil)
	return true
}

// idleIfUnused makes the connection idle if it was unused for the timeout, so that no lease
// gets its client. Otherwise it returns how long to wait.
func (s *state) idleIfUnused(u *uses, timeout time.Duration) (rest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rest = u.restUntil(timeout); rest <= 0 {
		s.setLocked(host.Idle, "", time.Time{}, nil)
	}
	return rest
}

// refuse keeps leases from the connection, whose calls end. The cause is their error; nil stands for
// the error that each of them has.
func (s *state) refuse(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.cause == nil {
		s.cause = cause
	}
}

// close closes the connection for leases when Run ends.
func (s *state) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.setLocked(host.Idle, "", time.Time{}, nil)
}

// endError returns the error of a call that ended with err.
func (s *state) endError(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && s.cause != nil {
		return s.cause
	}
	return err
}

func (s *state) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *state) fillStatus(status *host.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status.State, status.Reason, status.Retry, status.WantsKey, status.MissingScopes = s.now, s.reason, s.retry, s.wantsKey, s.missing
}
