package limit_test

import (
	"net/netip"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

func TestAnAuthenticatedPrincipalIsOneOwner(t *testing.T) {
	t.Parallel()
	alice := mcp.Principal{Issuer: "https://issuer.example", Subject: "alice"}
	here := limit.OwnerOf(alice, netip.MustParseAddr("192.0.2.1"), limit.NewMember())
	there := limit.OwnerOf(alice, netip.MustParseAddr("192.0.2.2"), limit.NewMember())
	if here != there {
		t.Errorf("got %v and %v, want one owner wherever the principal comes from", here, there)
	}
	if here == limit.OwnerOf(mcp.Principal{Issuer: "https://issuer.example", Subject: "bob"}, netip.Addr{}, 0) {
		t.Error("two principals are one owner")
	}
}

func TestAnonymousOwnersAreGroupedByAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		a, b string
		one  bool // group
	}{
		{"one IPv4 address", "192.0.2.1", "192.0.2.1", true},
		{"two IPv4 addresses", "192.0.2.1", "192.0.2.2", false},
		{"an IPv4 address in IPv6", "192.0.2.1", "::ffff:192.0.2.1", true},
		{"one IPv6 network", "2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true},
		{"two IPv6 networks", "2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"loopback addresses", "127.0.0.1", "::1", true},
		{"a loopback address and another", "127.0.0.1", "192.0.2.1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := limit.OwnerOf(mcp.PrincipalAnonymous, netip.MustParseAddr(c.a), limit.NewMember())
			b := limit.OwnerOf(mcp.PrincipalAnonymous, netip.MustParseAddr(c.b), limit.NewMember())
			if a == b {
				t.Error("two sessions are one owner")
			}
			if got := a.Group() == b.Group(); got != c.one {
				t.Errorf("got one group: %v, want %v", got, c.one)
			}
		})
	}
}

func TestTheGroupIsDistinctOnlyIfAddressesDistinguishClients(t *testing.T) {
	t.Parallel()
	remote := limit.OwnerOf(mcp.PrincipalAnonymous, netip.MustParseAddr("192.0.2.1"), limit.NewMember())
	local := limit.OwnerOf(mcp.PrincipalAnonymous, netip.MustParseAddr("127.0.0.1"), limit.NewMember())
	if remote.Distinct() != remote.Group() {
		t.Error("a session of an address is distinct, want the address")
	}
	if local.Distinct() != local {
		t.Error("the loopback address is distinct, want the session")
	}
}

func TestConnectionsAreDifferentMembers(t *testing.T) {
	t.Parallel()
	seen := make(map[limit.Member]string)
	for _, from := range []string{"127.0.0.1:4000", "127.0.0.1:4001", "127.0.0.2:4000", "[::1]:4000"} {
		m := limit.MemberAt(netip.MustParseAddrPort(from))
		if other, known := seen[m]; known || m == limit.NewMember() {
			t.Errorf("%s is the same member as %s", from, other)
		}
		seen[m] = from
	}
	if limit.MemberAt(netip.MustParseAddrPort("127.0.0.1:1")) != limit.MemberAt(netip.MustParseAddrPort("[::ffff:127.0.0.1]:1")) {
		t.Error("one connection is two members")
	}
}
