package jwt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Limits of the keys of one issuer.
const (
	// keysFresh is how long keys are used before they are fetched again. A
	// withdrawn key is accepted for up to this time.
	keysFresh = 5 * time.Minute
	// keysStale is how long keys are used while the issuer cannot be reached.
	keysStale = time.Hour
	// keysMissed is the minimum time between fetches because of unknown keys,
	// which any request can name, and between attempts while there are keys.
	keysMissed = 30 * time.Second
	// keysRetry is the time between attempts while there are no keys.
	keysRetry = 5 * time.Second
)

// ErrUnknownKey means that the issuer does not have the key of a signature.
var ErrUnknownKey = errors.New("unknown key")

// KeySet caches the keys of one issuer. It fetches them on demand, with at most
// one fetch at a time. It is safe for concurrent use.
//
//	Find
//	 ├─ known and fresh                 → the key
//	 ├─ known and old                   → one caller fetches, the others use the key
//	 ├─ unknown, fetch running          → wait for it
//	 ├─ unknown, last fetch without it     → refused
//	 └─ unknown                         → fetch
type KeySet struct {
	fetch func(context.Context) ([]Key, error)

	mu       sync.Mutex // guards the fields below
	keys     []Key
	fetched  time.Time     // when the keys were fetched
	tried    time.Time     // when the last fetch ended
	missed   time.Time     // when the last fetch ended that did not bring the key it was for
	failure  error         // of the last fetch
	fetching chan struct{} // closed when the running fetch ends; nil when none is running
}

// NewKeySet returns an empty cache. The function fetches the keys of the issuer.
func NewKeySet(fetch func(context.Context) ([]Key, error)) *KeySet { return &KeySet{fetch: fetch} }

// Find returns the keys that may have made a signature with the header. The
// error is ErrUnknownKey, or says why the keys could not be fetched.
func (s *KeySet) Find(ctx context.Context, h Header) ([]Key, error) {
	for {
		found, running, err := s.lookup(h, time.Now())
		if found != nil || err != nil {
			return found, err
		}
		if running == nil {
			return s.refresh(ctx, h)
		}
		select {
		case <-running:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// lookup decides without waiting. If all its results are nil, its caller must
// fetch the keys; running ends with the fetch of another caller.
func (s *KeySet) lookup(h Header, now time.Time) (found []Key, running chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.fetched) < keysStale {
		found = matchingKeys(s.keys, h)
	}
	switch {
	case found != nil && (now.Sub(s.fetched) < keysFresh || s.fetching != nil || !s.mayRetry(now)):
		return found, nil, nil
	case s.fetching != nil:
		return nil, s.fetching, nil
	case found == nil && (!s.mayRetry(now) || s.failure == nil && now.Sub(s.missed) < keysMissed):
		return nil, nil, s.missingKeyError()
	}
	s.fetching = make(chan struct{})
	return nil, nil, nil
}

// mayRetry reports whether enough time has passed since the last failure.
func (s *KeySet) mayRetry(now time.Time) bool {
	wait := keysMissed
	if s.keys == nil {
		wait = keysRetry
	}
	return s.failure == nil || now.Sub(s.tried) >= wait
}

// missingKeyError returns the error for a missing key: that of the last fetch if it
// failed, otherwise ErrUnknownKey.
func (s *KeySet) missingKeyError() error {
	if s.failure != nil {
		return s.failure
	}
	return ErrUnknownKey
}

// refresh fetches the keys. It continues if its caller is cancelled, because
// others may wait for it.
func (s *KeySet) refresh(ctx context.Context, h Header) ([]Key, error) {
	keys, err := s.fetchSafely(context.WithoutCancel(ctx))
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.fetching)
	s.fetching, s.tried, s.failure = nil, now, err
	if err == nil {
		s.keys, s.fetched = keys, now
	}
	if now.Sub(s.fetched) < keysStale {
		if found := matchingKeys(s.keys, h); found != nil {
			return found, nil
		}
	}
	s.missed = now
	return nil, s.missingKeyError()
}

// fetchSafely converts a panic to an error, so that waiting callers are always
// released.
func (s *KeySet) fetchSafely(ctx context.Context) (keys []Key, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("fetch keys: panic: %v", v)
		}
	}()
	return s.fetch(ctx)
}

// matchingKeys returns the keys with the header's id and algorithm. If the header has no id,
// exactly one key must fit.
func matchingKeys(keys []Key, h Header) (found []Key) {
	for _, k := range keys {
		if k.Supports(h.Algorithm) && (h.KeyID == "" || h.KeyID == k.id) {
			found = append(found, k)
		}
	}
	if h.KeyID == "" && len(found) > 1 {
		return nil
	}
	return found
}
