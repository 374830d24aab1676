package limit_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

func local() limit.Owner {
	return limit.OwnerOf(mcp.PrincipalLocal, netip.Addr{}, limit.NewMember())
}

func TestKeptBytesOfOneOwnerAreAShareOfThePool(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	for name, test := range map[string]struct {
		owner limit.Owner
		most  int
	}{
		"an anonymous session on loopback": {loopback(), 16},
		"an anonymous address":             {session("192.0.2.1"), 16},
		"a principal":                      {principal("alice"), 32},
		"a local user":                     {local(), 32},
		"an unknown owner":                 {limit.Owner{}, 16},
	} {
		k, n := limit.NewKeptBytes(64*kib), 0
		for ; n <= 64; n++ {
			if _, err := k.Take(test.owner, kib, func() { t.Errorf("%s: evicted its own entry", name) }); err != nil {
				if !errors.Is(err, limit.ErrOwnerFull) {
					t.Errorf("%s: got %v, want %v", name, err, limit.ErrOwnerFull)
				}
				break
			}
		}
		if n != test.most || k.Held() != n*kib {
			t.Errorf("%s keeps %d entries and %d bytes, want %d of 1 KiB", name, n, k.Held(), test.most)
		}
	}
}

func TestAddressLosesAsManyIdleEntriesAsANewOneNeeds(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t}
	k := limit.NewKeptBytes(400)
	keep := func(address, name string, size int) (*limit.Place, error) {
		return k.Take(session(address), size, func() { l.lost = append(l.lost, name) })
	}
	const full, other = "192.0.2.1", "192.0.2.2"
	for _, name := range []string{"first", "second", "third"} {
		p, _ := keep(full, name, 30)
		p.SetIdle(true)
	}
	if _, err := keep(full, "larger", 50); err != nil {
		t.Errorf("got %v, want room made by the same address", err)
	}
	l.wantLost("first", "second")
	if _, err := keep(full, "too large", 90); !errors.Is(err, limit.ErrOwnerFull) || k.Held() != 80 {
		t.Errorf("got %v and %d bytes kept, want a refusal that changes nothing", err, k.Held())
	}
	if _, err := keep(other, "elsewhere", 90); err != nil {
		t.Errorf("got %v at another address, want room", err)
	}
	l.wantLost()
	idle, _ := keep("192.0.2.3", "grows", 30)
	idle.SetIdle(true)
	if err := idle.Resize(101); !errors.Is(err, limit.ErrOwnerFull) {
		t.Errorf("got %v, want a refusal", err)
	}
	if err := idle.Resize(100); err != nil {
		t.Errorf("got %v, want it grown", err)
	}
	l.wantLost() // not itself
}

func TestAnonymousOwnersTakeNoRoomOfPrincipals(t *testing.T) {
	t.Parallel()
	k := limit.NewKeptBytes(100)
	for range 20 {
		_, _ = k.Take(loopback(), 20, func() {})
	}
	for _, o := range []limit.Owner{principal("alice"), local()} {
		if _, err := k.Take(o, 50, func() { t.Error("evicted") }); err != nil {
			t.Errorf("got %v, want room for %v", err, o.Principal())
		}
	}
}

func TestOwnerThatHoldsAsMuchLosesWhatIsIdle(t *testing.T) {
	t.Parallel()
	l := &ledger{t: t}
	k := limit.NewKeptBytes(400)
	keep := func(address, name string, size int) (*limit.Place, error) {
		return k.Take(session(address), size, func() { l.lost = append(l.lost, name) })
	}
	for i, address := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"} {
		p, _ := keep(address, address, 100)
		if i > 0 {
			p.SetIdle(true)
		}
	}
	if _, err := keep("192.0.2.5", "newcomer", 100); err != nil {
		t.Errorf("got %v, want room", err)
	}
	l.wantLost("192.0.2.2") // and not that of 192.0.2.1, which is in use
	for _, address := range []string{"192.0.2.3", "192.0.2.4"} {
		if _, err := keep(address+"0", "busy", 100); err != nil {
			t.Errorf("got %v, want room", err)
		}
		l.wantLost(address)
	}
	if _, err := keep("192.0.2.6", "newcomer", 100); !errors.Is(err, limit.ErrPoolFull) {
		t.Errorf("got %v while all is in use, want %v", err, limit.ErrPoolFull)
	}
}

func TestSmallEntriesOfTablesAreNotCounted(t *testing.T) {
	t.Parallel()
	k := limit.NewKeptBytes(1 << 20)
	if p, err := k.TakeLarge(loopback(), limit.SmallEntry, nil); p != nil || err != nil || k.Held() != 0 {
		t.Errorf("got %v, %v and %d bytes kept, want a small entry not counted", p, err, k.Held())
	}
	if _, err := k.TakeLarge(loopback(), limit.SmallEntry+1, nil); err != nil || k.Held() != limit.SmallEntry+1 {
		t.Errorf("got %v and %d bytes kept, want a larger entry counted", err, k.Held())
	}
	var none *limit.KeptBytes
	if p, err := none.Take(loopback(), 1, nil); p != nil || err != nil || p.Resize(2) != nil {
		t.Errorf("got %v, %v without a limit", p, err)
	}
	if limit.KeptFrom(context.WithValue(t.Context(), limit.KeptKey, k)) != k || limit.KeptFrom(t.Context()) != nil {
		t.Error("want the limit of the context")
	}
}
