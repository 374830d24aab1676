package limit

import (
	"context"
	"net/netip"
	"sync/atomic"
	"unique"

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
	group  unique.Handle[groupKey] // one word: owners are kept with all that they hold
	member Member                  // zero for an authenticated principal
}

// groupKey is the first level of an owner.
type groupKey struct {
	principal mcp.Principal
	address   netip.Prefix // zero where addresses tell nobody apart
}

// The groups of callers that nobody tells apart.
var (
	anonymousGroup = unique.Make(groupKey{principal: mcp.PrincipalAnonymous})
	localGroup     = unique.Make(groupKey{principal: mcp.PrincipalLocal})
)

// groupOf returns the handle of a group.
func groupOf(key groupKey) unique.Handle[groupKey] {
	switch key { // of most connections, without a lookup
	case groupKey{principal: mcp.PrincipalAnonymous}:
		return anonymousGroup
	case groupKey{principal: mcp.PrincipalLocal}:
		return localGroup
	}
	return unique.Make(key)
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
		return Owner{group: groupOf(groupKey{principal: p})}
	}
	return Owner{group: groupOf(groupKey{p, network(address)}), member: member}
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

// known returns the group of the owner. The zero Owner is an anonymous one.
func (o Owner) known() groupKey {
	if o.group == (unique.Handle[groupKey]{}) {
		return groupKey{}
	}
	return o.group.Value()
}

// ownerKey is the key of the owner in contexts.
type ownerKey struct{}

// OwnerKey is the key under which the context of a request has its Owner.
var OwnerKey any = ownerKey{}

// OwnerFrom returns for whom the request counts that ctx belongs to, for packages that
// see requests from outside of the server. Without one it is the zero Owner.
func OwnerFrom(ctx context.Context) Owner {
	o, _ := ctx.Value(OwnerKey).(Owner)
	return o
}

// Principal returns the principal of the owner, who may be one that nobody has
// authenticated.
func (o Owner) Principal() mcp.Principal { return o.known().principal }

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
	if o.known().address.IsValid() {
		return o.Group()
	}
	return o
}

// IsKnown reports whether anything tells the owner from others: it is false where
// there is neither a principal, nor an address, nor a session or connection.
func (o Owner) IsKnown() bool {
	k := o.known()
	return o.member != 0 || k.address.IsValid() || k.principal.Authenticated()
}
