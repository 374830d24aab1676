package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// testHost is a host of a group that runs until stop.
type testHost struct {
	*Places
	store *lossyStore
	stop  func()

	mu     sync.Mutex
	living map[*testProcesses]bool // guarded by mu
	ended  int                     // guarded by mu
}

// testProcesses are those of one caller of a test host.
type testProcesses struct{ of *testHost }

func (p *testProcesses) End(context.Context) error {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	delete(p.of.living, p)
	p.of.ended++
	return nil
}

// lost returns how many callers have lost their processes.
func (h *testHost) lost() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}

// lossyStore fails while it is lost.
type lossyStore struct {
	mcp.Store
	mu   sync.Mutex
	gone bool
}

var errGone = errors.New("connection refused")

func (s *lossyStore) setGone(gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = gone
}

func (s *lossyStore) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return errGone
	}
	return nil
}

func (s *lossyStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if err := s.err(); err != nil {
		return nil, false, err
	}
	return s.Store.Get(ctx, key)
}

func (s *lossyStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	if err := s.err(); err != nil {
		return false, err
	}
	return s.Store.Create(ctx, key, value, ttl)
}

func (s *lossyStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	if err := s.err(); err != nil {
		return false, err
	}
	return s.Store.Swap(ctx, key, old, value, ttl)
}

func startHost(t *testing.T, values mcp.Store, name string) *testHost {
	t.Helper()
	h := &testHost{store: &lossyStore{Store: values}, living: make(map[*testProcesses]bool)}
	g, err := Join(t.Context(), h.store, "http://"+name)
	if err != nil {
		t.Fatal(err)
	}
	h.Places = NewPlaces(g, func() Processes {
		h.mu.Lock()
		defer h.mu.Unlock()
		p := &testProcesses{h}
		h.living[p] = true
		return p
	})
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { g.Run(ctx, h.Rejoined) })
	work.Go(func() { h.Run(ctx) })
	h.stop = func() {
		cancel()
		work.Wait()
	}
	t.Cleanup(h.stop)
	return h
}

// at returns where a host finds a caller: the URL, "here", or the error.
func (h *testHost) at(t *testing.T, caller string) string {
	own, found, err := h.enter(t.Context(), caller, mcpserver.Owner{})
	switch {
	case err != nil:
		return err.Error()
	case own != nil:
		h.leave(own, true, false)
		return "here"
	}
	return found.url
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

func TestOneHostHasACaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		values := new(mcpserver.MemoryStore)
		hosts := make([]*testHost, 3)
		for i := range hosts {
			hosts[i] = startHost(t, values, fmt.Sprint(i))
		}
		var work sync.WaitGroup
		var mu sync.Mutex
		here := make(map[string]int)
		for range 20 {
			for i, h := range hosts {
				for c := range 5 {
					work.Go(func() {
						caller := fmt.Sprint(c)
						if h.at(t, caller) == "here" {
							mu.Lock()
							defer mu.Unlock()
							here[caller] |= 1 << i
						}
					})
				}
			}
		}
		work.Wait()
		for caller, at := range here {
			if at&(at-1) != 0 {
				t.Errorf("caller %s: %b have it, want one", caller, at)
			}
		}
	})
}

func TestCallerOfAnEndedHostIsTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		values := new(mcpserver.MemoryStore)
		one, two := startHost(t, values, "one"), startHost(t, values, "two")
		want(t, "first", one.at(t, "c"), "here")
		want(t, "second", two.at(t, "c"), "http://one")
		time.Sleep(10 * time.Second)
		one.store.setGone(true) // it is killed
		began := time.Now()
		for two.at(t, "c") != "here" {
			if time.Since(began) > 4*time.Second {
				t.Fatal("not taken over within 4 s")
			}
			two.forget("c")
			time.Sleep(100 * time.Millisecond)
		}
	})
}

func TestHostsThatLoseTheStoreKeepTheirCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		values := new(mcpserver.MemoryStore)
		one, two := startHost(t, values, "one"), startHost(t, values, "two")
		want(t, "before", one.at(t, "c"), "here")
		time.Sleep(5 * time.Second)
		one.store.setGone(true)
		two.store.setGone(true)
		time.Sleep(20 * time.Second)
		want(t, "without the store", one.at(t, "c"), "here")
		two.store.setGone(false) // the other one is back first
		time.Sleep(1500 * time.Millisecond)
		want(t, "before the host is back", two.at(t, "c"), errUnsettled.Error())
		one.store.setGone(false)
		time.Sleep(1500 * time.Millisecond)
		want(t, "after the loss", two.at(t, "c"), "http://one")
		want(t, "after the loss", one.at(t, "c"), "here")
		if one.lost()+two.lost() > 0 {
			t.Errorf("got %d and %d losses, want none", one.lost(), two.lost())
		}
	})
}

func TestHostThatAloneLostTheStoreEndsTheCallersThatItLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		values := new(mcpserver.MemoryStore)
		one, two := startHost(t, values, "one"), startHost(t, values, "two")
		want(t, "before", one.at(t, "taken"), "here")
		want(t, "before", one.at(t, "kept"), "here")
		time.Sleep(5 * time.Second)
		one.store.setGone(true)
		time.Sleep(5 * time.Second)
		want(t, "meanwhile", two.at(t, "taken"), "here")
		one.store.setGone(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if one.lost() != 1 || two.lost() != 0 {
			t.Errorf("got %d and %d losses, want one of the first", one.lost(), two.lost())
		}
		want(t, "afterwards", one.at(t, "taken"), "http://two")
		want(t, "afterwards", one.at(t, "kept"), "here")
		want(t, "afterwards", two.at(t, "kept"), "http://one")
	})
}

// A process that was stopped does not notice that its record has expired.
func TestHostThatWasStoppedAsksTheStoreFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		values := new(mcpserver.MemoryStore)
		one, two := startHost(t, values, "one"), startHost(t, values, "two")
		want(t, "before", one.at(t, "c"), "here")
		time.Sleep(5 * time.Second)
		one.group.mu.Lock()
		id := one.group.id
		one.group.renewed = time.Now().Add(-leaseTime)
		one.group.mu.Unlock()
		if err := values.Delete(t.Context(), hostPrefix+id); err != nil {
			t.Fatal(err)
		}
		want(t, "another host", two.at(t, "c"), "here")
		want(t, "the host that was stopped", one.at(t, "c"), "http://two")
		synctest.Wait()
		if one.lost() != 1 {
			t.Errorf("got %d losses, want that its processes end", one.lost())
		}
	})
}

func TestHostThatHasEndedIsNotBroughtBackByItsRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		values := new(mcpserver.MemoryStore)
		one, two := startHost(t, values, "one"), startHost(t, values, "two")
		want(t, "before", one.at(t, "c"), "here")
		key := hostPrefix + one.group.ID()
		record, _, err := values.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		one.stop()
		time.Sleep(maxClockSkew + leaseTime + time.Second)
		if err := values.Put(t.Context(), key, record, 0); err != nil {
			t.Fatal(err)
		}
		want(t, "with the former record", two.at(t, "c"), "here")
	})
}

func TestCallerWithoutAServedRequestIsGivenBack(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		values := new(mcpserver.MemoryStore)
		one := startHost(t, values, "one")
		for i := range 100 {
			own, _, err := one.enter(t.Context(), fmt.Sprint(i), mcpserver.Owner{})
			if err != nil {
				t.Fatal(err)
			}
			one.leave(own, i == 0, false)
		}
		time.Sleep(freeTime + time.Second)
		synctest.Wait()
		keys, err := values.List(t.Context(), callerPrefix, "", 1000)
		if err != nil || len(keys) != 1 || len(one.entries) != 1 || one.pool.Held() != 1 || one.lost() != 99 {
			t.Errorf("got records %q, %v, %d entries, %d places, %d losses, want those of the first caller alone", keys, err, len(one.entries), one.pool.Held(), one.lost())
		}
	})
}

// A host that was stopped while it gave a caller back does not remove what another one has stored since.
func TestCallerThatIsGivenBackKeepsItsNextHost(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		values := new(mcpserver.MemoryStore)
		one, two := startHost(t, values, "one"), startHost(t, values, "two")
		one.newProcesses = func() Processes {
			return endFunc(func() { _ = values.Put(t.Context(), callerPrefix+"c", []byte(two.group.ID()), placeTime) })
		}
		own, _, err := one.enter(t.Context(), "c", mcpserver.Owner{})
		if err != nil {
			t.Fatal(err)
		}
		one.leave(own, false, false)
		synctest.Wait()
		want(t, "the next host", one.at(t, "c"), "http://two")
	})
}

// endFunc are processes that call a function when they end.
type endFunc func()

func (f endFunc) End(context.Context) error {
	f()
	return nil
}

func TestRefusedRequestDoesNotEndACallerThatWasServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := startHost(t, new(mcpserver.MemoryStore), "one")
		want(t, "first", one.at(t, "c"), "here")
		own, _, err := one.enter(t.Context(), "c", mcpserver.Owner{})
		if err != nil {
			t.Fatal(err)
		}
		one.leave(own, false, false)
		synctest.Wait()
		if one.lost() != 0 {
			t.Error("the processes of the caller were ended")
		}
	})
}

// slowEnd are processes that take a second to end.
type slowEnd struct{ ended *time.Time }

func (s slowEnd) End(context.Context) error {
	time.Sleep(time.Second)
	*s.ended = time.Now()
	return nil
}

func TestCallerIsNotTakenBeforeItsProcessesHaveEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		values := new(mcpserver.MemoryStore)
		one, two := startHost(t, values, "one"), startHost(t, values, "two")
		var ended time.Time
		one.newProcesses = func() Processes { return slowEnd{&ended} }
		want(t, "first", one.at(t, "c"), "here")
		done := make(chan bool)
		go func() { done <- one.handOver("c") }()
		synctest.Wait()
		want(t, "meanwhile, at another host", two.at(t, "c"), "http://one")
		want(t, "meanwhile, at the same host", one.at(t, "c"), "here")
		if ended.IsZero() {
			t.Error("the caller was taken before its processes had ended")
		}
		if !<-done {
			t.Error("the caller was not handed over")
		}
	})
}

func TestOldPlacesAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := startHost(t, new(mcpserver.MemoryStore), "one")
		want(t, "first", one.at(t, "c"), "here")
		time.Sleep(placeTime + 2*placeRenewal)
		synctest.Wait()
		if len(one.entries) != 0 || one.pool.Held() != 0 {
			t.Errorf("got %d entries, %d places, want none", len(one.entries), one.pool.Held())
		}
	})
}

func TestCallersAreTakenAfterARestartOfAllHosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		values := new(mcpserver.MemoryStore)
		one, two := startHost(t, values, "one"), startHost(t, values, "two")
		want(t, "before", one.at(t, "c"), "here")
		want(t, "before", two.at(t, "c"), "http://one")
		one.stop()
		two.stop()
		three, began := startHost(t, values, "three"), time.Now()
		for three.at(t, "c") != "here" {
			if time.Since(began) > 4*time.Second {
				t.Fatal("not taken over within 4 s")
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}
