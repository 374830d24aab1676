package limit_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// Owners of the tests: a principal, a session that comes from an address, and one on
// the loopback interface.
func principal(name string) limit.Owner {
	return limit.OwnerOf(mcp.Principal{Issuer: "test", Subject: name}, netip.Addr{}, 0)
}

func session(address string) limit.Owner {
	return limit.OwnerOf(mcp.PrincipalAnonymous, netip.MustParseAddr(address), limit.NewMember())
}

func loopback() limit.Owner { return session("127.0.0.1") }

// ledger notes which places were taken away.
type ledger struct {
	t    *testing.T
	pool *limit.Pool
	lost []string
}

func (l *ledger) take(o limit.Owner, name string, size int) (*limit.Place, error) {
	return l.pool.Take(o, size, func() {
		l.pool.Held() // no lock is held
		l.lost = append(l.lost, name)
	})
}

func (l *ledger) takes(o limit.Owner, name string, size int) *limit.Place {
	l.t.Helper()
	p, err := l.take(o, name, size)
	if err != nil {
		l.t.Fatalf("%s: %v, want a place", name, err)
	}
	return p
}

func (l *ledger) refuses(o limit.Owner, name string, want error) {
	l.t.Helper()
	if _, err := l.take(o, name, 1); !errors.Is(err, want) {
		l.t.Errorf("%s: got %v, want %v", name, err, want)
	}
}

func (l *ledger) wantLost(want ...string) {
	l.t.Helper()
	if !slices.Equal(l.lost, want) {
		l.t.Errorf("got %v taken away, want %v", l.lost, want)
	}
	l.lost = nil
}

func TestFullPoolEvictsTheNewestEntryOfTheLargestOwner(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 6})}
	greedy, modest := session("192.0.2.1"), session("192.0.2.2")
	l.takes(modest, "modest 1", 1)
	for i := range 5 {
		l.takes(greedy, fmt.Sprint("greedy ", i+1), 1)
	}
	l.takes(principal("alice"), "alice", 1)
	l.wantLost("greedy 5")
	l.takes(modest, "modest 2", 1)
	l.wantLost("greedy 4")
	l.refuses(greedy, "greedy 6", limit.ErrPoolFull)
	l.refuses(modest, "modest 3", limit.ErrPoolFull) // it would hold as much as greedy then
	l.wantLost()
}

func TestManySessionsOfOneAddressAreOneGroup(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 4})}
	for i := range 4 {
		l.takes(session("192.0.2.1"), fmt.Sprint("session ", i+1), 1)
	}
	other := session("192.0.2.2")
	l.takes(other, "other 1", 1)
	l.takes(other, "other 2", 1)
	l.wantLost("session 1", "session 2") // which held as much as the others for longest
	l.refuses(other, "other 3", limit.ErrPoolFull)
}

func TestOnLoopbackSessionsAreCountedOneByOne(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 4})}
	greedy := loopback()
	for i := range 4 {
		l.takes(greedy, fmt.Sprint("greedy ", i+1), 1)
	}
	l.takes(loopback(), "a", 1)
	l.wantLost("greedy 4")
	l.takes(loopback(), "b", 1)
	l.takes(loopback(), "c", 1)
	l.wantLost("greedy 3", "greedy 2")
	l.takes(loopback(), "d", 1) // all hold one, greedy had its before
	l.wantLost("a")
}

func TestOneAddressWithManySessionsDoesNotExcludeOthers(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 100})}
	for range 200 {
		l.takes(loopback(), "greedy", 1)
	}
	l.lost = nil
	for range 50 {
		l.takes(loopback(), "modest", 1)
	}
	if slices.Contains(l.lost, "modest") {
		t.Error("a newcomer lost its place to another, although the greedy sessions have held theirs for longer")
	}
}

func TestAuthenticatedOwnersDoNotDisplaceEachOther(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 2})}
	l.takes(principal("alice"), "alice", 1)
	l.takes(session("192.0.2.1"), "an address", 1)
	l.refuses(principal("bob"), "bob", limit.ErrPoolFull)
	l.refuses(session("192.0.2.2"), "another address", limit.ErrPoolFull)
	l.wantLost()
}

func TestEachOwnerHasABoundOfItsOwn(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 100, Each: 2, Principal: 3})}
	a, alice := session("192.0.2.1"), principal("alice")
	l.takes(a, "a", 1)
	l.takes(a, "a", 1)
	l.refuses(a, "a", limit.ErrOwnerFull)
	l.takes(session("192.0.2.1"), "another session of the address", 1)
	for range 3 {
		l.takes(alice, "alice", 1)
	}
	l.refuses(alice, "alice", limit.ErrOwnerFull)
	if got := l.pool.HeldBy(alice); got != 3 {
		t.Errorf("alice holds %d, want 3", got)
	}
}

// An owner at its limit loses what it has not used for longest, and nothing that is in use.
func TestOwnerAtItsLimitLosesItsLongestIdleEntry(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 100, Principal: 3, KeepBusy: true})}
	alice, bob := principal("alice"), principal("bob")
	l.takes(bob, "bob", 1).SetIdle(true)
	busy := l.takes(alice, "busy", 1)
	late, early := l.takes(alice, "late", 1), l.takes(alice, "early", 1)
	early.SetIdle(true)
	late.SetIdle(true)
	l.takes(alice, "fourth", 1)
	l.wantLost("early")
	l.takes(alice, "fifth", 1)
	l.wantLost("late")
	l.refuses(alice, "alice", limit.ErrOwnerFull)
	busy.SetIdle(true)
	if _, err := l.take(alice, "large", 2); !errors.Is(err, limit.ErrOwnerFull) {
		t.Errorf("got %v for more than what is idle, want %v", err, limit.ErrOwnerFull)
	}
	l.wantLost()
	if got := l.pool.HeldBy(alice); got != 3 {
		t.Errorf("alice holds %d, want 3", got)
	}
}

// Of owners with as much each, the one loses its place that has been idle longest. Nobody loses what is in
// use.
func TestNewcomerGetsThePlaceThatHasBeenIdleLongest(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 4, KeepBusy: true})}
	var places []*limit.Place
	for i := range 4 {
		places = append(places, l.takes(principal(fmt.Sprint("owner ", i)), fmt.Sprint("owner ", i), 1))
	}
	newcomer := principal("newcomer")
	l.refuses(newcomer, "all are in use", limit.ErrPoolFull)
	for _, i := range []int{2, 1, 3} {
		places[i].SetIdle(true)
	}
	places[3].SetBusy()
	places[3].SetIdle(true)
	l.takes(newcomer, "newcomer", 1)
	l.wantLost("owner 2")
	l.refuses(newcomer, "more than others", limit.ErrPoolFull)
	l.takes(principal("another"), "another", 1)
	l.takes(session("192.0.2.1"), "one more", 1)
	l.wantLost("owner 1", "owner 3")
	l.refuses(principal("late"), "all are in use again", limit.ErrPoolFull)
}

func TestPoolBoundsUnitsAndNotEntries(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 100})}
	large := l.takes(loopback(), "larger than all", 1000)
	large.Release()
	greedy := session("192.0.2.1")
	l.takes(greedy, "60", 60)
	l.takes(greedy, "10", 10)
	l.takes(greedy, "30", 30)
	l.takes(session("192.0.2.2"), "35", 35)
	l.wantLost("30", "10")
	if _, err := l.take(session("192.0.2.3"), "90", 90); !errors.Is(err, limit.ErrPoolFull) {
		t.Errorf("got %v, want one that wants more than anybody holds refused", err)
	}
	l.wantLost()
	if got := l.pool.Held(); got != 95 {
		t.Errorf("%d units are held, want 95", got)
	}
}

func TestRefusedEntryChangesNothing(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 10})}
	greedy := session("192.0.2.1")
	var places []*limit.Place
	for range 10 {
		places = append(places, l.takes(greedy, "greedy", 1))
	}
	if _, err := l.take(session("192.0.2.2"), "too much", 6); !errors.Is(err, limit.ErrPoolFull) {
		t.Fatalf("got %v, want %v", err, limit.ErrPoolFull)
	}
	l.wantLost()
	for _, p := range places {
		if !p.Release() {
			t.Fatal("a place was lost although the newcomer was refused")
		}
	}
	if l.pool.Held() != 0 {
		t.Errorf("%d units are held, want none", l.pool.Held())
	}
}

func TestEntryOfAPoolEndsOnceByReleaseOrByEviction(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 2})}
	a, b := loopback(), loopback()
	first := l.takes(a, "first", 1)
	second := l.takes(a, "second", 1)
	l.takes(b, "third", 1)
	l.wantLost("second")
	if second.Release() {
		t.Error("a place that was taken away can be released")
	}
	if !first.Release() || first.Release() {
		t.Error("want a place released once")
	}
	if !(*limit.Place)(nil).Release() {
		t.Error("want the release of nil to do nothing")
	}
}

func TestIdleEntriesAreEvictedFirst(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 4, KeepBusy: true})}
	used := l.takes(loopback(), "used", 1)
	unused := l.takes(loopback(), "unused", 1)
	again := l.takes(loopback(), "idle, and then busy again", 1)
	l.takes(loopback(), "busy", 1)
	used.SetIdle(true)
	unused.SetIdle(false)
	again.SetIdle(true)
	again.SetBusy()
	l.takes(loopback(), "newcomer 1", 1)
	l.takes(loopback(), "newcomer 2", 1)
	l.wantLost("unused", "used")
	l.refuses(loopback(), "newcomer 3", limit.ErrPoolFull) // all are in use
	l.takes(session("192.0.2.1"), "from another address", 1)
	l.wantLost("idle, and then busy again") // of the busy ones it was there first
}

func TestIdleEntriesAreTakenOnlyIfNotFull(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 10, KeepBusy: true})}
	l.takes(session("192.0.2.1"), "busy", 1)
	l.takes(session("192.0.2.1"), "busy too", 1)
	if l.pool.EvictIdle() {
		t.Error("a busy place was taken away")
	}
	l.takes(session("192.0.2.2"), "used", 1).SetIdle(true)
	l.takes(session("192.0.2.2"), "unused", 1).SetIdle(false)
	l.takes(session("192.0.2.3"), "of another group", 1).SetIdle(false)
	for l.pool.EvictIdle() {
	}
	l.wantLost("unused", "of another group", "used") // the other group has held one for longer
	if n := l.pool.Held(); n != 2 {
		t.Errorf("%d are held, want the two busy ones", n)
	}
}

// A client without a session counts by connection, and connections cost it nothing. The bound of its
// group holds for all of them, and takes nothing from others.
func TestGroupHasABoundOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1", "192.0.2.1"} {
		l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 10, Group: 3})}
		l.takes(session("192.0.2.9"), "other", 1).SetIdle(true)
		first := session(address)
		for i := range 3 {
			l.takes(first, fmt.Sprint("first ", i+1), 1).SetIdle(true)
		}
		l.refuses(first, "first 4", limit.ErrOwnerFull)
		l.wantLost()
		for i := range 4 {
			l.takes(session(address), fmt.Sprint("second ", i+1), 1).SetIdle(true)
		}
		l.wantLost("first 1", "first 2", "first 3", "second 1")
		l.takes(principal("alice"), "alice", 1)
		l.wantLost()
	}
}

func TestConcurrentUseOfAPoolKeepsItsBoundsAndLeaksNothing(t *testing.T) {
	t.Parallel()
	const total = 50
	pool := limit.NewPool(limit.PoolBounds{Total: total, Each: 20})
	owners := []limit.Owner{principal("alice"), session("192.0.2.1"), session("192.0.2.1"), session("192.0.2.2"), loopback(), loopback()}
	var storm sync.WaitGroup
	var mu sync.Mutex
	ended := make(map[int]int)
	end := func(id int) {
		mu.Lock()
		defer mu.Unlock()
		ended[id]++
	}
	const each = 2000
	for w := range 4 {
		storm.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			type thing struct {
				id    int
				place *limit.Place
			}
			var mine []thing
			for i := range each {
				id := w*each + i
				place, err := pool.Take(owners[random.IntN(len(owners))], 1+random.IntN(3), func() { end(id) })
				if err != nil {
					end(id)
				} else {
					mine = append(mine, thing{id, place})
				}
				if held := pool.Held(); held > total {
					t.Errorf("%d units are held, want at most %d", held, total)
				}
				for len(mine) > random.IntN(30) {
					last := mine[0]
					mine = mine[1:]
					if last.place.Release() {
						end(last.id)
					}
				}
			}
			for _, th := range mine {
				if th.place.Release() {
					end(th.id)
				}
			}
		})
	}
	storm.Wait()
	for id := range 4 * each {
		if ended[id] != 1 {
			t.Fatalf("thing %d ended %d times, want once", id, ended[id])
		}
	}
	if pool.Held() != 0 {
		t.Errorf("%d units are held behind the storm, want none", pool.Held())
	}
}

func BenchmarkPool(b *testing.B) {
	pool := limit.NewPool(limit.PoolBounds{Total: 1000})
	o := loopback()
	b.ReportAllocs()
	for b.Loop() {
		p, _ := pool.Take(o, 1, func() {})
		p.Release()
	}
}

func TestEntryOfAPoolCanGrowAndShrink(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 100, Each: 90})}
	greedy := session("192.0.2.1")
	l.takes(greedy, "greedy 1", 40)
	l.takes(greedy, "greedy 2", 40)
	p := l.takes(session("192.0.2.2"), "modest", 10)
	if err := p.Resize(50); err != nil {
		t.Errorf("got %v, want room taken from greedy", err)
	}
	l.wantLost("greedy 2")
	if err := p.Resize(91); !errors.Is(err, limit.ErrOwnerFull) {
		t.Errorf("got %v, want %v", err, limit.ErrOwnerFull)
	}
	if err := p.Resize(70); !errors.Is(err, limit.ErrPoolFull) || l.pool.Held() != 90 {
		t.Errorf("got %v and %d units held, want %v and 90", err, l.pool.Held(), limit.ErrPoolFull)
	}
	if err := p.Resize(20); err != nil || l.pool.Held() != 60 {
		t.Errorf("got %v and %d units held, want 60", err, l.pool.Held())
	}
	p.Release()
	if err := p.Resize(100); err != nil || l.pool.Held() != 40 {
		t.Errorf("got %v and %d units held, want a place that is not held left alone", err, l.pool.Held())
	}
}

// The two owners are connections of one client. The panic of a Pool would keep its lock for ever.
func TestOwnerThatLosesItsLastPlaceForItsNewOneStillCounts(t *testing.T) {
	t.Parallel()
	one, other := session("192.0.2.1"), session("192.0.2.1")
	for name, bounds := range map[string]limit.PoolBounds{
		"its address is full": {Total: 1000, Address: 2},
		"the pool is full":    {Total: 2, KeepBusy: true},
	} {
		l := &ledger{t: t, pool: limit.NewPool(bounds)}
		l.takes(one, "last", 1).SetIdle(true)
		l.takes(other, "of another connection", 1)
		place := l.takes(one, "new", 1)
		l.wantLost("last")
		if held := l.pool.Held(); held != 2 {
			t.Errorf("%s: %d units are held, want 2", name, held)
		}
		place.SetIdle(true)
		l.takes(one, "newer", 1)
		l.wantLost("new")
		if held := l.pool.Held(); held != 2 {
			t.Errorf("%s: %d units are held at the end, want 2", name, held)
		}
	}
}

// idles takes a place that is idle at once.
func (l *ledger) idles(o limit.Owner, name string, size int) *limit.Place {
	l.t.Helper()
	p := l.takes(o, name, size)
	p.SetIdle(true)
	return p
}

func TestRefusedNewcomerLeavesTheAgesOfIdlePlaces(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 100, RenewIdle: true})}
	l.idles(session("192.0.2.1"), "first", 10)
	large := session("192.0.2.1")
	l.idles(large, "second", 30)
	third := l.idles(large, "third", 30)
	l.takes(session("192.0.2.2"), "busy", 30)
	if _, err := l.take(session("192.0.2.3"), "newcomer", 60); !errors.Is(err, limit.ErrPoolFull) { // also without the second
		t.Errorf("got %v, want %v", err, limit.ErrPoolFull)
	}
	if err := third.Resize(200); !errors.Is(err, limit.ErrPoolFull) {
		t.Errorf("got %v, want %v", err, limit.ErrPoolFull)
	}
	for l.pool.EvictIdle() {
	}
	l.wantLost("first", "second", "third")
}

func TestSmallIdlePlacesMakeRoomForALargerNewcomer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		owner func(i int) limit.Owner
		size  int
		lost  []string
	}{
		"of one group": {func(int) limit.Owner { return loopback() }, 25, []string{"0", "1", "2"}},
		"of many groups, for a group that has little": {func(i int) limit.Owner { return session(fmt.Sprint("192.0.2.", i)) }, 15, []string{"0", "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 1000, Each: 250, Address: 250, RenewIdle: true})}
			for i := range 100 {
				l.idles(c.owner(i), fmt.Sprint(i), 10)
			}
			newcomer := c.owner(200)
			l.takes(newcomer, "newcomer", c.size)
			l.wantLost(c.lost...)
			if _, err := l.take(newcomer, "much more", 200); !errors.Is(err, limit.ErrPoolFull) {
				t.Errorf("got %v for an owner that has more than all others, want a refusal", err)
			}
			l.wantLost()
		})
	}
}

func TestLargestOwnerTakesNothingThatOthersHaveLeft(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 1000, RenewIdle: true})}
	modest, greedy := loopback(), loopback()
	l.idles(modest, "modest", 10)
	l.idles(greedy, "greedy", 990)
	l.refuses(greedy, "greedy again", limit.ErrPoolFull)
	l.wantLost()
}

func TestConnectionWithAnAddressLosesItsOwnOldestIdlePlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		owner limit.Owner
		lost  []string
	}{
		{session("192.0.2.1"), []string{"second", "third"}},
		{loopback(), nil},
		{principal("alice"), nil},
	} {
		l := &ledger{t: t, pool: limit.NewPool(limit.PoolBounds{Total: 400, Each: 100, Address: 100, RenewIdle: true})}
		l.takes(c.owner, "first", 20) // in use
		l.idles(c.owner, "second", 30)
		l.idles(c.owner, "third", 30)
		l.idles(c.owner, "fourth", 20)
		if _, err := l.take(c.owner, "newest", 50); (err == nil) != (c.lost != nil) {
			t.Errorf("%v: got %v", c.owner.Principal(), err)
		}
		l.wantLost(c.lost...)
	}
}
