package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/store"
)

// sealedStore encrypts the values of s.
func sealedStore(t *testing.T, s mcp.Store) mcp.Store {
	t.Helper()
	sealed, err := store.Sealed(s, mcpserver.Key{ID: "1", Secret: storeKey})
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func sealedMemory(t *testing.T) mcp.Store { return sealedStore(t, new(mcpserver.MemoryStore)) }

func TestSharedStoreNeedsAStoreThatEncrypts(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-182")
	plain := new(mcpserver.MemoryStore)
	for name, values := range map[string]mcp.Store{"plain": plain, "a part of it": store.Prefixed(plain, "a/"), "nil": nil} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, "store.Sealed") {
					t.Errorf("%s: got %s, want a panic that says what is right", name, text)
				}
			}()
			SharedStore(values)
		}()
	}
	s := SharedStore(store.Prefixed(sealedStore(t, plain), "a/"))
	set(t, s, "grant of canary.example", []byte("canary-secret"))
	wantStored(t, s, "grant of canary.example", "canary-secret")
	keys, err := plain.List(t.Context(), "", "", 10)
	if err != nil || len(keys) != 1 {
		t.Fatalf("got %q, %v, want one key", keys, err)
	}
	if text, _, _ := plain.Get(t.Context(), keys[0]); strings.Contains(keys[0]+string(text), "canary") {
		t.Errorf("the engine has %q under %q", text, keys[0])
	}
}

func TestOneProcessAtATimeChangesASharedValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		values := sealedMemory(t)
		var work sync.WaitGroup
		for range 3 {
			work.Go(func() {
				err := SharedStore(values).Update(t.Context(), "count", func(old []byte) ([]byte, error) {
					time.Sleep(10 * time.Second) // longer than the lock without renewal
					n, _ := strconv.Atoi(string(old))
					return strconv.AppendInt(nil, int64(n+1), 10), nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		wantStored(t, SharedStore(values), "count", "3")
	})
}

// Each process has a tokenSource of its own, and the authorization server ends a sign-in whose
// refresh token is used twice.
func TestReplicasRefreshASharedTokenOnce(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-182")
	synctest.Test(t, func(t *testing.T) {
		values := sealedMemory(t)
		first, n := rotating(t, SharedStore(values), time.Hour)
		replicas := []*tokenSource{first}
		for range 9 {
			replicas = append(replicas, &tokenSource{store: SharedStore(values), renew: first.renew})
		}
		for hour := 1; hour <= 3; hour++ {
			time.Sleep(time.Hour)
			var work sync.WaitGroup
			for _, k := range replicas {
				for range 3 {
					work.Go(func() { wantToken(t, k, fmt.Sprint("access-", hour)) })
				}
			}
			work.Wait()
			if int(n.Load()) != hour {
				t.Fatalf("got %d refreshes after %d hours", n.Load(), hour)
			}
		}
	})
}

// lostStore does what it is asked for, until its process is cut off.
type lostStore struct {
	mcp.Store
	lost bool
}

func (s *lostStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	if s.lost {
		return false, errors.New("lost")
	}
	return s.Store.Swap(ctx, key, old, value, ttl)
}

func TestLockOfAProcessThatWasKilledExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		values := &lostStore{Store: new(mcpserver.MemoryStore)}
		s := SharedStore(sealedStore(t, values))
		refused := errors.New("refused")
		if err := s.Update(t.Context(), "k", func([]byte) ([]byte, error) {
			values.lost = true // it renews and releases nothing from now on
			return nil, refused
		}); !errors.Is(err, refused) {
			t.Fatal(err)
		}
		values.lost = false
		began := time.Now()
		set(t, s, "k", []byte("x"))
		if took := time.Since(began); took > sharedLockLife+time.Second {
			t.Errorf("waited for %v", took)
		}
	})
}

func TestProcessThatHasLostItsLockReplacesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := new(mcpserver.MemoryStore)
		values := &lostStore{Store: engine}
		s, other := SharedStore(sealedStore(t, values)), SharedStore(sealedStore(t, engine))
		set(t, s, "k", []byte("0"))
		err := s.Update(t.Context(), "k", func([]byte) ([]byte, error) {
			values.lost = true
			set(t, other, "k", []byte("newer"))
			values.lost = false
			return []byte("late"), nil
		})
		if err == nil || !strings.Contains(err.Error(), "another process") {
			t.Errorf("got %v, want that another process was faster", err)
		}
		wantStored(t, s, "k", "newer")
	})
}

func TestWaitForASharedLockIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		values := sealedMemory(t)
		err := SharedStore(values).Update(t.Context(), "k", func([]byte) ([]byte, error) {
			began := time.Now()
			err := SharedStore(values).Update(t.Context(), "k", func([]byte) ([]byte, error) { panic("two at once") })
			if took := time.Since(began); took != maxLockWait {
				t.Errorf("waited for %v, want %v", took, maxLockWait)
			}
			return nil, err
		})
		if !errors.Is(err, errLocked) {
			t.Errorf("got %v, want %v", err, errLocked)
		}
	})
}

func TestSharedValueExpiresAYearAfterItsLastUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := SharedStore(sealedMemory(t))
		set(t, s, "k", []byte("x"))
		for range 5 {
			time.Sleep(sharedLife - 24*time.Hour)
			wantStored(t, s, "k", "x")
		}
		time.Sleep(sharedLife + time.Second)
		wantStored(t, s, "k", "")
	})
}

func TestSharedValuesAreBounded(t *testing.T) {
	t.Parallel()
	s := SharedStore(sealedMemory(t))
	set(t, s, "k", make([]byte, maxShared))
	err := s.Update(t.Context(), "k", func(old []byte) ([]byte, error) { return append(old, 'x'), nil })
	if err == nil || !strings.Contains(err.Error(), "want at most") {
		t.Errorf("got %v", err)
	}
	if got, err := s.Load(t.Context(), "k"); len(got) != maxShared || err != nil {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// An authorization server may have ended the old token, so the new one must not be lost.
func TestNewTokenIsStoredAfterTheStoreHasFailed(t *testing.T) {
	t.Parallel()
	for _, stores := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			values := &failingStore{Store: new(mcpserver.MemoryStore), stores: stores}
			s := SharedStore(sealedStore(t, values))
			for _, value := range []string{"created", "swapped"} {
				err := s.Update(t.Context(), "k", func([]byte) ([]byte, error) {
					values.failures = 3
					return []byte(value), nil
				})
				if err != nil {
					t.Fatal(err)
				}
				wantStored(t, s, "k", value)
			}
		})
	}
}

// failingStore fails some times. With stores it has done then what it was asked for.
type failingStore struct {
	mcp.Store
	stores   bool
	failures int
}

func (s *failingStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	return s.fail(func() (bool, error) { return s.Store.Create(ctx, key, value, ttl) })
}

func (s *failingStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	return s.fail(func() (bool, error) { return s.Store.Swap(ctx, key, old, value, ttl) })
}

func (s *failingStore) fail(do func() (bool, error)) (bool, error) {
	if s.failures == 0 {
		return do()
	}
	s.failures--
	if s.stores {
		_, _ = do()
	}
	return false, errors.New("no answer")
}

// blockedStore does not answer.
type blockedStore struct{ mcp.Store }

func (blockedStore) Get(ctx context.Context, _ string) ([]byte, bool, error) {
	<-ctx.Done()
	return nil, false, context.Cause(ctx)
}

func (blockedStore) Create(ctx context.Context, _ string, _ []byte, _ time.Duration) (bool, error) {
	<-ctx.Done()
	return false, context.Cause(ctx)
}

func TestSilentStoreOfTokensIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := SharedStore(sealedStore(t, blockedStore{}))
		began := time.Now()
		if _, err := s.Load(t.Context(), "k"); err == nil || time.Since(began) != sharedTimeout {
			t.Errorf("load: got %v after %v", err, time.Since(began))
		}
		began = time.Now()
		err := s.Update(t.Context(), "k", func([]byte) ([]byte, error) { panic("without the lock") })
		if err == nil || time.Since(began) != sharedTimeout {
			t.Errorf("update: got %v after %v", err, time.Since(began))
		}
	})
}

// slowStore answers to Create after five seconds, and has created the value at once.
type slowStore struct {
	mcp.Store
	slow, lost bool
}

func (s *slowStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	created, err := s.Store.Create(ctx, key, value, ttl)
	if s.slow {
		time.Sleep(5 * time.Second)
	}
	return created, err
}

func (s *slowStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	if s.lost {
		return false, errors.New("lost")
	}
	return s.Store.Swap(ctx, key, old, value, ttl)
}

// A lock begins to expire when it is asked for, not when the store answers.
func TestSlowStoreGivesALockToOneProcessAtATime(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-182")
	synctest.Test(t, func(t *testing.T) {
		engine := new(mcpserver.MemoryStore)
		values := &slowStore{Store: engine, slow: true}
		s, other := SharedStore(sealedStore(t, values)), SharedStore(sealedStore(t, engine))
		refreshes := false
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(time.Second)
			set(t, other, "k", []byte("other"))
			if refreshes {
				t.Error("two processes change the value at once")
			}
		}()
		err := s.Update(t.Context(), "k", func([]byte) ([]byte, error) {
			refreshes = true
			time.Sleep(3 * time.Second)
			refreshes = false
			return []byte("slow"), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		<-done
		wantStored(t, s, "k", "other")
		values.lost = true
		err = s.Update(t.Context(), "new", func([]byte) ([]byte, error) { panic("without a lock") })
		if !errors.Is(err, errSlowStore) {
			t.Errorf("the lock cannot be renewed: got %v, want %v", err, errSlowStore)
		}
	})
}

func TestRemovedValueMakesRoomForANewOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := new(mcpserver.MemoryStore)
		values := &lostStore{Store: engine}
		s, other := SharedStore(sealedStore(t, values)), SharedStore(sealedStore(t, engine))
		set(t, s, "k", []byte("0"))
		err := s.Update(t.Context(), "k", func([]byte) ([]byte, error) {
			values.lost = true
			set(t, other, "k", []byte("newer"))
			values.lost = false
			return nil, nil
		})
		if err == nil || !strings.Contains(err.Error(), "another process") {
			t.Errorf("got %v, want that another process was faster", err)
		}
		wantStored(t, s, "k", "newer")
		set(t, s, "k", nil)
		wantStored(t, s, "k", "")
		set(t, s, "k", nil)
		set(t, s, "k", []byte("again"))
		wantStored(t, s, "k", "again")
		set(t, s, "k", nil)
		time.Sleep(removedLife + time.Second)
		if keys, err := engine.List(t.Context(), "", "", 10); len(keys) > 0 || err != nil {
			t.Errorf("a minute after the value was removed the store has %q, %v", keys, err)
		}
	})
}
