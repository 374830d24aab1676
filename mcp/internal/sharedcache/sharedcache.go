// Package sharedcache keeps the results of clients' requests in a store that the clients share.
package sharedcache

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/resultcache"
)

const (
	// storeTimeout bounds how long one request waits for the store, before it is sent and
	// after its result was received, each.
	storeTimeout = time.Second
	// storePause is how long the store is not used after it has failed.
	storePause = 5 * time.Second
)

// Params say where a Cache keeps results, and whose they are.
type Params struct {
	Store     mcp.Store
	Key       []byte // of all clients that share results
	Server    string
	Principal string
	// Authorization returns what the credentials of requests are, and false if that is not
	// known yet.
	Authorization func() (string, bool)
	// SharePublic shares public results between principals.
	SharePublic bool
	// StaleFor is how long results are kept after they became stale.
	StaleFor time.Duration
	// Context ends all work in the background, which Go runs.
	Context context.Context
	Go      func(func()) bool
	// Failed is called when the store has failed, once until it works again.
	Failed func(error)
}

// Cache is a resultcache.Cache in a store that the clients of several processes use. What the
// store holds is encrypted, authenticated, and bound to its place:
//
//	Lookup
//	 └─ flush           invalidations that the store does not have yet
//	 └─ read            the generation and the slot of both partitions, at the same time
//	Put
//	 └─ write           the slot of the partition that the scope of the result names
//
// A result belongs to the generation of its method and partition at the time of Lookup. An
// invalidation writes another generation, which makes all results of the method useless, also
// those of requests that other processes have sent and not stored yet.
type Cache struct {
	p       Params
	secrets *secrets
	maxSize int // of a stored value

	mu          sync.Mutex
	generations map[string]uint64 // by method: how often results were invalidated by this client
	missedAt    time.Time         // the last time at which notifications may have been missed
	retryAt     time.Time         // until then the store is not used
	failed      bool              // the last call of the store failed
	pending     map[string]uint64 // by key of a generation that is to be replaced: number of the invalidation
	pendings    uint64            // number of the last invalidation
	flushing    bool              // flushInBackground runs
	flushLock   chan struct{}     // capacity 1; held by flush
}

var _ resultcache.Cache = (*Cache)(nil)

// New returns a cache in a store.
func New(p Params) (*Cache, error) {
	secrets, err := newSecrets(p.Key)
	if err != nil {
		return nil, err
	}
	maxSize := maxStored
	if l, ok := p.Store.(interface{ Limits() (key, value int) }); ok {
		_, value := l.Limits()
		maxSize = min(maxSize, value)
	}
	return &Cache{
		p: p, secrets: secrets, maxSize: maxSize,
		generations: make(map[string]uint64), pending: make(map[string]uint64), flushLock: make(chan struct{}, 1),
	}, nil
}

// ticket is the state of the store at a Lookup.
type ticket struct {
	number          uint64   // of the method, in generations
	private, public place    // private has no partition if the credentials are not known
	found           []string // keys of the slots that have a result of the request
}

// place is a partition, and the generation of one method in it.
type place struct {
	partition  string
	generation generation // zero if it is not known
}

// partitions returns the partitions of private and public results.
func (s *Cache) partitions() (private, public string) {
	if authorization, known := s.p.Authorization(); known {
		private = s.secrets.partition("private", s.p.Server, s.p.Principal, authorization)
	}
	if s.p.SharePublic {
		return private, s.secrets.partition("public of all", s.p.Server)
	}
	return private, s.secrets.partition("public", s.p.Server, s.p.Principal)
}

// Lookup implements resultcache.Cache.
func (s *Cache) Lookup(ctx context.Context, key dialect.CacheKey) (none resultcache.Result, _ resultcache.Ticket) {
	s.mu.Lock()
	number := s.generations[key.Method] // before the credentials are read
	missedAt, usable := s.missedAt, !time.Now().Before(s.retryAt)
	s.mu.Unlock()
	if !usable {
		return none, nil
	}
	bounded, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	found, t, err := s.read(bounded, key)
	if s.finish(ctx, "lookup", err); err != nil {
		return none, nil
	}
	t.number = number
	if found.ReceivedAt.After(time.Now()) { // by the clock of another client: its age is not known
		return none, t
	}
	if found.ReceivedAt.Before(missedAt) && missedAt.Before(found.StaleAt) {
		found.StaleAt = missedAt
	}
	if found.Value == nil || !found.Usable(s.p.StaleFor) {
		return none, t
	}
	return found, t
}

// read returns the newest result of a request that the store has, fresh or stale.
func (s *Cache) read(ctx context.Context, key dialect.CacheKey) (newest resultcache.Result, t *ticket, err error) {
	if err := s.flush(ctx); err != nil {
		return newest, nil, err
	}
	t = new(ticket)
	t.private.partition, t.public.partition = s.partitions()
	id := s.secrets.identify(key)
	var results [2]resultcache.Result
	var errs [2]error
	var work sync.WaitGroup
	for i, p := range []*place{&t.private, &t.public} {
		if p.partition != "" {
			work.Go(func() { results[i], errs[i] = s.readPlace(ctx, p, key.Method, id) })
		}
	}
	work.Wait()
	for i, p := range []*place{&t.private, &t.public} {
		if results[i].Value == nil {
			continue
		}
		t.found = append(t.found, id.slot(p.partition))
		if newest.Value == nil || results[i].ReceivedAt.After(newest.ReceivedAt) {
			newest = results[i]
		}
	}
	return newest, t, errors.Join(errs[:]...)
}

// readPlace sets the generation of a place, and returns the result in the slot of the request.
func (s *Cache) readPlace(ctx context.Context, p *place, method string, id identity) (resultcache.Result, error) {
	var values [2][]byte
	var errs [2]error
	var work sync.WaitGroup
	for i, key := range []string{generationKey(p.partition, method), id.slot(p.partition)} {
		work.Go(func() { values[i], errs[i] = s.get(ctx, key) })
	}
	work.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return resultcache.Result{}, err
	}
	if len(values[0]) != len(p.generation) { // the first use, or the store has lost it
		p.generation = newGeneration()
		return resultcache.Result{}, s.put(ctx, generationKey(p.partition, method), p.generation[:], generationTTL)
	}
	p.generation = generation(values[0])
	return decodeResult(values[1], id, p.generation), nil
}

// Put implements resultcache.Cache. A result that replaces another one removes it, also if it is
// not stored itself.
func (s *Cache) Put(ctx context.Context, key dialect.CacheKey, result jsontext.Value, at resultcache.Ticket) {
	t, ok := at.(*ticket)
	if !ok {
		return
	}
	s.mu.Lock()
	current := s.generations[key.Method] == t.number
	s.mu.Unlock()
	ttl, scope := resultcache.Hints(result)
	p := t.private
	if scope == mcp.CachePublic {
		p = t.public
	}
	id := s.secrets.identify(key)
	slot := ""
	now := time.Now()
	entry := encodeResult(resultcache.Result{Value: result, ReceivedAt: now, StaleAt: now.Add(ttl)}, id, p.generation)
	if ttl > 0 && current && p.partition != "" && len(entry)+sealedOverhead <= s.maxSize {
		slot = id.slot(p.partition)
	}
	bounded, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	s.finish(ctx, "store a result", s.write(bounded, slot, entry, ttl+s.p.StaleFor, t.found))
}

// write stores an entry in a slot, unless that is empty, and removes what is in other slots.
func (s *Cache) write(ctx context.Context, slot string, entry []byte, ttl time.Duration, found []string) error {
	for _, other := range found {
		if other != slot {
			if err := s.delete(ctx, other); err != nil {
				return err
			}
		}
	}
	if slot == "" {
		return nil
	}
	return s.put(ctx, slot, entry, ttl)
}

// finish records whether calls of the store succeeded. The end of the caller's context is not a
// failure of the store.
func (s *Cache) finish(ctx context.Context, operation string, err error) {
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	report := err != nil && !s.failed
	s.failed = err != nil
	if err != nil {
		s.retryAt = time.Now().Add(storePause)
	}
	s.mu.Unlock()
	if report {
		s.p.Failed(fmt.Errorf("%s: %w", operation, err))
	}
}
