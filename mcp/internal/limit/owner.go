package limit

import (
	"net/netip"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
)

// Owner is on whose behalf something is held: a call, a stream, a task. Every limit
// of the SDK that is counted for somebody is counted for an Owner. Owners compare
// with ==.
//
// An authenticated principal is one owner. All others have two levels: the group,
// which is the network address that they come from, and the member of the group,
// which is a session or a connection. Where addresses tell nobody apart (the loopback
// interface, sockets, standard streams, memory) all are members of one group.
type Owner struct {
	principal mcp.Principal
	address   netip.Prefix // zero where addresses tell nobody apart
	member    Member       // zero for an authenticated principal
}

// Member is a session or a connection. The zero Member stands for those that are not
// known.
type Member uint64

// connectionBit tells members that are connections from those that are sessions.
const connectionBit Member = 1 << 63

var lastMember atomic.Uint64

// NewMember returns the member for a new session or connection. No other call
// returns the same.
func NewMember() Member { return Member(lastMember.Add(1)) }

// MemberAt returns the member for a TCP connection whose other end has that address.
// Among the members of one group different connections are different members.
func MemberAt(from netip.AddrPort) Member {
	m := connectionBit | Member(from.Port())
	if ip := from.Addr().Unmap(); ip.Is4() {
		for i, b := range ip.As4() {
			m |= Member(b) << (16 + 8*i)
		}
	}
	return m
}

// OwnerOf returns who a message of the principal counts for, which comes from the
// address over the session or connection. The address may be invalid where none is
// known, which is the same as a loopback address. IPv6 addresses count by networks
// of 64 bits, because one client can have a whole network.
func OwnerOf(p mcp.Principal, address netip.Addr, member Member) Owner {
	if p.Authenticated() {
		return Owner{principal: p}
	}
	return Owner{principal: p, address: network(address), member: member}
}

// network returns the part of an address that tells clients apart.
func network(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	if !ip.IsValid() || ip.IsLoopback() {
		return netip.Prefix{}
	}
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.Prefix(bits) // fails only for other numbers of bits
	return p
}

// Principal returns the principal of the owner, who may be one that nobody has
// authenticated.
func (o Owner) Principal() mcp.Principal { return o.principal }

// Group returns the first level of the owner: the authenticated principal, or all
// who come from its address.
func (o Owner) Group() Owner {
	o.member = 0
	return o
}

// Distinct returns the smallest set of senders that the owner cannot leave at will:
// the group, where addresses tell clients apart, and otherwise the owner itself. What
// is counted over time, such as rates, counts for it.
func (o Owner) Distinct() Owner {
	if o.address.IsValid() {
		return o.Group()
	}
	return o
}
