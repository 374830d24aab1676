package cli

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/host"
)

// waitingSignIn is a server that waits for a sign-in, or for a key, as the inbox lists it. It follows from the state of
// the server, so nothing is stored, and it ends with that state: there is no question to answer.
type waitingSignIn struct {
	Server string `json:"server"`
	// WantsKey: the server wants another key in its configuration, and a sign-in gives it none.
	WantsKey bool `json:"wantsKey,omitzero"`
	// Scopes are those that a refused call has lacked. There are none if the server accepts no call at all.
	Scopes []string `json:"scopes,omitempty"`
	// Command signs in, or sets the key.
	Command string `json:"command"`
}

// waitingSignIns returns the servers of all running hosts of the user that wait for a sign-in or a key.
func (m *Main) waitingSignIns(ctx context.Context) (waiting []waitingSignIn, err error) {
	found, err := m.runningHosts(ctx)
	for _, r := range found {
		for _, s := range r.status.Upstreams {
			command := m.credentialsCommand(&s, r.status.Config)
			if s.WaitsForCredentials() && !slices.ContainsFunc(waiting, func(w waitingSignIn) bool { return w.Command == command }) {
				waiting = append(waiting, waitingSignIn{s.Key, s.WantsKey, s.MissingScopes, command})
			}
		}
	}
	return waiting, err
}

// ask says in one line what the user has to do.
func (w *waitingSignIn) ask() string {
	switch {
	case w.WantsKey:
		return w.Server + " wants another key: " + w.Command
	case len(w.Scopes) > 0:
		return "Sign in to " + w.Server + " again? A call lacked a scope: " + w.Command
	}
	return "Sign in to " + w.Server + "? " + w.Command
}

// signInNotices are the servers that wait for a sign-in or a key, for notifications of the desktop: each is named once
// until it no longer waits. The zero value has none.
type signInNotices struct {
	mu      sync.Mutex
	waiting map[string]bool // guarded by mu: the servers that wait
	pending []waitingSignIn // guarded by mu: those of them that no notification has named, in their order
}

// note notes the state of a server, and the command that signs in or sets the key.
func (n *signInNotices) note(s *host.Status, command string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case !s.WaitsForCredentials():
		delete(n.waiting, s.Key)
		n.pending = slices.DeleteFunc(n.pending, func(w waitingSignIn) bool { return w.Server == s.Key })
	case !n.waiting[s.Key]:
		if n.waiting == nil {
			n.waiting = make(map[string]bool)
		}
		n.waiting[s.Key] = true
		n.pending = append(n.pending, waitingSignIn{s.Key, s.WantsKey, s.MissingScopes, command})
	}
}

// forgetOthers forgets all servers but some. What is forgotten must not be noted any more.
func (n *signInNotices) forgetOthers(kept []host.Upstream) {
	n.mu.Lock()
	defer n.mu.Unlock()
	isKept := func(key string) bool {
		return slices.ContainsFunc(kept, func(u host.Upstream) bool { return u.Key == key })
	}
	maps.DeleteFunc(n.waiting, func(key string, _ bool) bool { return !isKept(key) })
	n.pending = slices.DeleteFunc(n.pending, func(w waitingSignIn) bool { return !isKept(w.Server) })
}

// isPending reports whether next returns a server.
func (n *signInNotices) isPending() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.pending) > 0
}

// next returns the next server that a notification has to name.
func (n *signInNotices) next() (one waitingSignIn, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.pending) == 0 {
		return one, false
	}
	one, n.pending = n.pending[0], n.pending[1:]
	return one, true
}
