package jwt

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// keySource is an issuer's keys, which can be changed and can fail.
type keySource struct {
	mu      sync.Mutex // guards the fields below
	ids     []string
	err     error
	fetches int
	takes   time.Duration
}

func (s *keySource) fetch(context.Context) ([]Key, error) {
	s.mu.Lock()
	s.fetches++
	ids, err, takes := s.ids, s.err, s.takes
	s.mu.Unlock()
	time.Sleep(takes) // in a bubble
	keys := []Key{}
	for _, id := range ids {
		keys = append(keys, Key{id: id, public: testKey})
	}
	return keys, err
}

func (s *keySource) set(err error, ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids, s.err = ids, err
}

func (s *keySource) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetches
}

var testKey = func() *ecdsa.PublicKey {
	k, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return &k.PublicKey
}()

// finds reports the outcome of looking for a key.
func finds(t *testing.T, s *KeySet, id string) error {
	t.Helper()
	keys, err := s.Find(t.Context(), Header{Algorithm: ES256, KeyID: id})
	if err == nil && len(keys) != 1 {
		t.Errorf("%s: got %d keys, want one", id, len(keys))
	}
	return err
}

func TestUnknownKeysAreLookedForOncePerInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &keySource{ids: []string{"one"}}
		s := &KeySet{fetch: source.fetch}
		if err := finds(t, s, "one"); err != nil {
			t.Fatal(err)
		}
		const intervals = 10
		for range intervals {
			for i := range 100_000 / intervals {
				if err := finds(t, s, "forged"+strconv.Itoa(i)); !errors.Is(err, ErrUnknownKey) {
					t.Fatalf("got %v, want an unknown key", err)
				}
			}
			time.Sleep(keysMissed)
		}
		if got := source.count(); got != 1+intervals {
			t.Errorf("got %d fetches in %v, want the first one and one per interval", got, intervals*keysMissed)
		}
	})
}

func TestFloodOfUnknownKeysBeforeTheFirstFetchIsOneFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &keySource{ids: []string{"one"}, takes: time.Second}
		s := &KeySet{fetch: source.fetch}
		var callers sync.WaitGroup
		for i := range 1000 {
			callers.Go(func() {
				if err := finds(t, s, fmt.Sprint("forged", i)); !errors.Is(err, ErrUnknownKey) {
					t.Errorf("got %v", err)
				}
			})
		}
		callers.Wait()
		if got := source.count(); got != 1 {
			t.Errorf("got %d fetches, want one", got)
		}
	})
}

func TestKeyRotationFailsNoCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &keySource{ids: []string{"one"}, takes: time.Second}
		s := &KeySet{fetch: source.fetch}
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				if err := finds(t, s, "one"); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		source.set(nil, "two")
		for range 50 {
			callers.Go(func() {
				if err := finds(t, s, "two"); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if got := source.count(); got != 2 {
			t.Errorf("got %d fetches, want two", got)
		}
		if err := finds(t, s, "one"); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("the old key: got %v, want it unknown", err)
		}
	})
}

func TestWithdrawnKeysAreDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &keySource{ids: []string{"one", "two"}}
		s := &KeySet{fetch: source.fetch}
		if err := finds(t, s, "one"); err != nil {
			t.Fatal(err)
		}
		source.set(nil, "two")
		time.Sleep(keysFresh)
		if err := finds(t, s, "one"); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("got %v, want it unknown", err)
		}
		if err := finds(t, s, "two"); err != nil {
			t.Error(err)
		}
	})
}

func TestKeysAreUsedForATimeWhileTheIssuerIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &keySource{ids: []string{"one"}}
		s := &KeySet{fetch: source.fetch}
		if err := finds(t, s, "one"); err != nil {
			t.Fatal(err)
		}
		down := errors.New("down")
		source.set(down)
		begin, before := time.Now(), source.count()
		for time.Since(begin) < keysStale-time.Second {
			if err := finds(t, s, "one"); err != nil {
				t.Fatalf("after %v: %v", time.Since(begin), err)
			}
			time.Sleep(time.Second)
		}
		if got, most := source.count()-before, int(keysStale/keysMissed); got < 2 || got > most {
			t.Errorf("got %d attempts, want some, and at most %d", got, most)
		}
		if err := finds(t, s, "two"); !errors.Is(err, down) {
			t.Errorf("unknown key: got %v, want the failure: nobody can tell", err)
		}
		time.Sleep(time.Second)
		if err := finds(t, s, "one"); !errors.Is(err, down) {
			t.Errorf("after %v: got %v, want the failure", time.Since(begin), err)
		}
		source.set(nil, "one")
		time.Sleep(keysMissed)
		if err := finds(t, s, "one"); err != nil {
			t.Errorf("when it is back: %v", err)
		}
	})
}

func TestCachedKeysAreUsedDuringAFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &keySource{ids: []string{"one"}}
		s := &KeySet{fetch: source.fetch}
		if err := finds(t, s, "one"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(keysFresh)
		source.takes = time.Minute
		var fetching sync.WaitGroup
		fetching.Go(func() { _ = finds(t, s, "one") })
		synctest.Wait()
		begin := time.Now()
		if err := finds(t, s, "one"); err != nil || time.Since(begin) != 0 {
			t.Errorf("got %v after %v, want no wait", err, time.Since(begin))
		}
		fetching.Wait()
	})
}

func TestWaitingForKeysEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &keySource{ids: []string{"one"}, takes: time.Minute}
		s := &KeySet{fetch: source.fetch}
		var fetching sync.WaitGroup
		fetching.Go(func() { _ = finds(t, s, "one") })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Find(ctx, Header{Algorithm: ES256, KeyID: "one"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		fetching.Wait()
	})
}

func TestPanicOfAFetchIsAFailure(t *testing.T) {
	t.Parallel()
	s := &KeySet{fetch: func(context.Context) ([]Key, error) { panic("boom") }}
	for range 2 {
		if err := finds(t, s, "one"); err == nil || errors.Is(err, ErrUnknownKey) {
			t.Errorf("got %v, want a failure", err)
		}
	}
}
