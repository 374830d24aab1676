package streamhttp

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	// recordLife is how long the Store keeps the record of a stream or a question after it was
	// written or renewed last. The records of a process that was killed are not renewed.
	recordLife = time.Hour
	// renewAfter is how often a process renews the records of what is open there.
	renewAfter = recordLife / 3
	// removedAtOnce is how many records of an ended session are listed by one call of the Store.
	removedAtOnce = 100
)

// recordLife returns how long the record of a stream or a question of the session lives.
func (s *session) recordLife() time.Duration { return min(recordLife, s.timeLeft()) }

// renewRecords renews the records of the streams that are open in this process, at most once
// within renewAfter, and again with the next call after a failure.
func (h *sharedSession) renewRecords(ctx context.Context) {
	h.mu.Lock()
	due := time.Since(h.renewed) >= renewAfter && !h.all.isUnavailable()
	if due {
		h.renewed = time.Now()
	}
	h.mu.Unlock()
	if !due {
		return
	}
	for _, name := range h.of.openStreams() {
		if err := h.all.renew(ctx, h.of.key.streamKey(name), h.of.recordLife()); err != nil {
			h.all.unavailable(ctx, "the record of one cannot be renewed", err)
			h.mu.Lock()
			h.renewed = time.Time{}
			h.mu.Unlock()
			return
		}
	}
}

// openStreams returns the names of the streams that can be resumed and are not done. The records of
// calls that are continued live as long as their work.
func (s *session) openStreams() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, st := range s.streams {
		if !slices.Contains(s.detached, st) && !st.isContinued() {
			names = append(names, name)
		}
	}
	return names
}

// renew has a record live on, whatever it is by now.
func (a *sharedSessions) renew(ctx context.Context, key string, life time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	value, found, err := a.store.Get(ctx, key)
	if err == nil && found {
		_, err = a.store.Swap(ctx, key, value, bytes.Clone(value), life) // false: somebody else has written it
	}
	return err
}

// removeRecords removes the records of the streams and questions of a session that has ended, and
// the events of the streams. Processes that were killed may have left some.
func (a *sharedSessions) removeRecords(key sessionKey) {
	a.group.Go(func(ctx context.Context) {
		for {
			n, err := a.removeSome(ctx, key)
			if err != nil {
				a.unavailable(ctx, "the records of one that has ended cannot be removed", err) // they expire
			}
			if err != nil || n < removedAtOnce {
				return
			}
		}
	})
}

func (a *sharedSessions) removeSome(ctx context.Context, key sessionKey) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*sharedTimeout)
	defer cancel()
	keys, err := a.store.List(ctx, key.storeKey()+".", "", removedAtOnce)
	if err != nil {
		return 0, err
	}
	for _, k := range keys {
		if name, ok := strings.CutPrefix(k, key.streamKey("")); ok && a.streams.events != nil {
			if err := a.streams.events.Trim(ctx, name, math.MaxInt64); err != nil {
				return 0, err
			}
		}
		if strings.HasPrefix(k, key.callPrefix()) {
			if err := a.abandon(ctx, k); err != nil {
				return 0, err
			}
			continue
		}
		if err := a.store.Delete(ctx, k); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}
