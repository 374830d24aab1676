package limit

import (
	"context"
	"net/netip"
	"sync/atomic"
	"unique"

	"github.com/fondaco/fondaco/mcp"
)

// Owner identifies the party that a limit is charged to, for calls, streams, tasks and all
// other things that are limited by client. Owners compare with ==.
//
// An authenticated principal is one owner. Other owners have two levels: the group, which
// is the network address of the client, and the member of the group, which is a session or
// a connection. Where addresses do not distinguish clients (the loopback interface,
// sockets, standard streams, memory), all are members of one group.
type Owner struct {
	group  unique.Handle[groupKey] // one word: owners are kept with all that they hold
	member Member                  // zero for an authenticated principal
}

// groupKey is the first level of an owner.
type groupKey struct {
	principal mcp.Principal
	address   netip.Prefix // zero where addresses do not distinguish clients
}

// The groups of clients whose address does not distinguish them.
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

// Member identifies a session or a connection. The zero Member is an unknown one.
type Member uint64

// connectionBit distinguishes connections from sessions.
const connectionBit Member = 1 << 63

var lastMember atomic.Uint64

// NewMember returns a unique Member for a new session or connection.
func NewMember() Member { return Member(lastMember.Add(1)) }

// MemberAt returns the Member for a TCP connection from that address. Different
// connections of one group are different members.
func MemberAt(from netip.AddrPort) Member {
	m := connectionBit | Member(from.Port())
	if ip := from.Addr().Unmap(); ip.Is4() {
		for i, b := range ip.As4() {
			m |= Member(b) << (16 + 8*i)
		}
	}
	return m
}

// OwnerOf returns the owner of a message, by its principal, the address of its client, and
// the session or connection that it came over. An invalid address means that none is known,
// and is treated as a loopback address. IPv6 addresses are reduced to networks of 64 bits,
// because one client can have a whole network.
func OwnerOf(p mcp.Principal, address netip.Addr, member Member) Owner {
	if p.Authenticated() {
		return Owner{group: groupOf(groupKey{principal: p})}
	}
	return Owner{group: groupOf(groupKey{p, network(address)}), member: member}
}

// network returns the part of an address that distinguishes clients.
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

// OwnerFrom returns the owner of the request that ctx belongs to, for packages that handle
// requests outside of the server. Without a request it is the zero Owner.
func OwnerFrom(ctx context.Context) Owner {
	o, _ := ctx.Value(OwnerKey).(Owner)
	return o
}

// Principal returns the principal of the owner, which may be unauthenticated.
func (o Owner) Principal() mcp.Principal { return o.known().principal }

// Group returns the first level of the owner: the authenticated principal, or all clients
// with its address.
func (o Owner) Group() Owner {
	o.member = 0
	return o
}

// Distinct returns the owner to which rates are charged. It is the group where addresses
// distinguish clients, so that a client cannot escape the limit with a new connection, and
// otherwise the owner itself.
func (o Owner) Distinct() Owner {
	if o.known().address.IsValid() {
		return o.Group()
	}
	return o
}

// IsKnown reports whether the owner is distinguishable from others: it is false without a
// principal, an address, and a session or connection.
func (o Owner) IsKnown() bool {
	k := o.known()
	return o.member != 0 || k.address.IsValid() || k.principal.Authenticated()
}
