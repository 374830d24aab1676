package sharedcache

import (
	"context"
	"maps"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/resultcache"
)

const (
	// maxPending bounds the invalidations that the store does not have yet. There are two
	// partitions and six methods, and each new token adds a partition.
	maxPending = 64
	// flushPause is the pause between invalidations, for servers that report changes all the
	// time.
	flushPause = 100 * time.Millisecond
)

// Invalidate implements resultcache.Cache.
func (s *Cache) Invalidate(methods ...string) {
	private, public := s.partitions()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pendings++
	for _, method := range methods {
		s.generations[method]++
		s.replaceLocked(generationKey(public, method))
		if private != "" {
			s.replaceLocked(generationKey(private, method))
		}
	}
	if !s.flushing {
		s.flushing = s.p.Go(s.flushInBackground)
	}
}

// replaceLocked has a generation replaced in the store. If too many are pending, it gives up the
// oldest one: results that this client has missed a change of are stale for it.
func (s *Cache) replaceLocked(key string) {
	if _, present := s.pending[key]; !present && len(s.pending) >= maxPending {
		oldest := key
		for other, number := range s.pending {
			if oldest == key || number < s.pending[oldest] {
				oldest = other
			}
		}
		delete(s.pending, oldest)
		s.missedAt = time.Now()
	}
	s.pending[key] = s.pendings
}

// InvalidateResources implements resultcache.Cache. It removes the contents of all resources,
// because the store cannot find those that match.
func (s *Cache) InvalidateResources(func(uri string) bool) { s.Invalidate(mcp.MethodResourcesRead) }

// NotificationsMissed implements resultcache.Cache. Other clients are not affected.
func (s *Cache) NotificationsMissed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missedAt = time.Now()
	s.dropRunningLocked()
}

// CredentialsChanged implements resultcache.Cache. Other credentials have other partitions.
func (s *Cache) CredentialsChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropRunningLocked()
}

// dropRunningLocked has the results of requests that are running not stored.
func (s *Cache) dropRunningLocked() {
	for _, method := range resultcache.Methods {
		s.generations[method]++
	}
}

// Clear implements resultcache.Cache.
func (s *Cache) Clear() { s.Invalidate(resultcache.Methods...) }

// flush replaces the generations of what was invalidated before the call.
func (s *Cache) flush(ctx context.Context) error {
	if len(s.copyPending()) == 0 {
		return nil
	}
	select {
	case s.flushLock <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.flushLock }()
	for key, number := range s.copyPending() {
		g := newGeneration()
		if err := s.put(ctx, key, g[:], generationTTL); err != nil {
			return err
		}
		s.mu.Lock()
		if s.pending[key] == number { // not invalidated again
			delete(s.pending, key)
		}
		s.mu.Unlock()
	}
	return nil
}

func (s *Cache) copyPending() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.pending)
}

// flushInBackground runs flush until nothing is pending, or the context of the client ends.
func (s *Cache) flushInBackground() {
	for {
		ctx, cancel := context.WithTimeout(s.p.Context, storeTimeout)
		err := s.flush(ctx)
		cancel()
		s.finish(s.p.Context, "invalidate results", err)
		pause := flushPause
		if err != nil {
			pause = storePause
		}
		select {
		case <-time.After(pause):
		case <-s.p.Context.Done():
			return
		}
		s.mu.Lock()
		if len(s.pending) == 0 {
			s.flushing = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
}
