package consent

import (
	"cmp"
	"context"
	"encoding/json/v2"
	"fmt"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	watcherPrefix = "watchers/"
	consolePrefix = "consoles/"
	// WatcherTime is how long a watcher counts after Announce.
	WatcherTime = time.Minute
	// AnnounceInterval is how often a host announces itself.
	AnnounceInterval = 10 * time.Second
)

// Watcher is a host that shows questions to a person, with codes.
type Watcher struct {
	// ID distinguishes it from others.
	ID string `json:"id"`
	// Socket is the path of its control socket, where answers are sent to.
	Socket string `json:"socket"`
	PID    int    `json:"pid"`
	// Since is when it began to show questions.
	Since time.Time `json:"since,omitzero"`
}

// Before reports whether a watcher has begun before another one. Of several it alone shows
// questions.
func (w Watcher) Before(other Watcher) bool {
	return cmp.Or(w.Since.Compare(other.Since), strings.Compare(w.ID, other.ID)) < 0
}

// Watchers holds the hosts that show questions now. Several processes may use the same store.
type Watchers struct {
	store  mcp.Store
	prefix string
}

// NewWatchers returns the watchers in a store, which have a terminal or a desktop.
func NewWatchers(store mcp.Store) *Watchers { return &Watchers{store, watcherPrefix} }

// NewConsoles returns the hosts in a store that show questions on a page of their console alone. They do not keep
// others from showing questions on a terminal: any program of the user can open a page.
func NewConsoles(store mcp.Store) *Watchers { return &Watchers{store, consolePrefix} }

// Announce adds a watcher for one minute.
func (s *Watchers) Announce(ctx context.Context, w Watcher) error {
	raw, err := json.Marshal(w)
	if err == nil {
		err = s.store.Put(ctx, s.prefix+digestOf(w.ID), raw, WatcherTime)
	}
	if err != nil {
		return fmt.Errorf("announce the host: %w", err)
	}
	return nil
}

// Has reports whether a watcher counts.
func (s *Watchers) Has(ctx context.Context, w Watcher) (bool, error) {
	_, found, err := s.store.Get(ctx, s.prefix+digestOf(w.ID))
	if err != nil {
		return false, fmt.Errorf("running hosts: %w", err)
	}
	return found, nil
}

// Leave removes a watcher.
func (s *Watchers) Leave(ctx context.Context, w Watcher) error {
	return s.store.Delete(ctx, s.prefix+digestOf(w.ID))
}

// List returns the watchers.
func (s *Watchers) List(ctx context.Context) ([]Watcher, error) {
	var all []Watcher
	for raw, err := range values(ctx, s.store, s.prefix) {
		if err != nil {
			return nil, fmt.Errorf("running hosts: %w", err)
		}
		w, err := decode[Watcher](raw)
		if err != nil {
			return nil, err
		}
		all = append(all, *w)
	}
	return all, nil
}
