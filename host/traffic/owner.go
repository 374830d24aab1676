package traffic

import (
	"container/list"
	"net/netip"

	"github.com/fondaco/fondaco/mcp"
)

// owner is the party that what is kept of a session is charged to: a principal, or an address where clients are
// anonymous, in the hop of the clients or of one upstream.
type owner struct {
	upstream  string // empty in the hop of the clients
	principal mcp.Principal
	address   netip.Prefix // of an anonymous client, zero where addresses do not distinguish clients
}

// ownerOf returns the owner of a message. Addresses of IPv6 are reduced to networks of 64 bits, because one client can
// have a whole network.
func ownerOf(upstream string, m *mcp.WireMessage) owner {
	o := owner{upstream: upstream, principal: m.Principal}
	ip := m.Address.Unmap().WithZone("")
	if o.principal.Authenticated() || !ip.IsValid() || ip.IsLoopback() {
		return o
	}
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	o.address, _ = ip.Prefix(bits) // fails only for other numbers of bits
	return o
}

// loser returns the owner that loses something when all owners together hold too much: the one that holds most, and
// of several the one that has added something. Anonymous clients can have any number of addresses, so it is one
// of them while they hold more than half.
func loser(held map[owner]int64, added owner) (most owner) {
	var all, anonymous int64
	for o, n := range held {
		all += n
		if o.principal == mcp.PrincipalAnonymous {
			anonymous += n
		}
	}
	largest := int64(-1)
	for o, n := range held {
		if anonymous > all/2 && o.principal != mcp.PrincipalAnonymous {
			continue
		}
		if n > largest || n == largest && o == added {
			most, largest = o, n
		}
	}
	return most
}

// ownedTable is a map that owners share. When it is full, loser loses the entry that it has not used for
// longest.
type ownedTable[K comparable, V any] struct {
	max     int
	entries map[K]*list.Element
	byOwner map[owner]*list.List // of *ownedEntry, the one that was used last in front
}

type ownedEntry[K comparable, V any] struct {
	key   K
	value V
	owner owner
}

func newOwnedTable[K comparable, V any](most int) ownedTable[K, V] {
	return ownedTable[K, V]{max: most, entries: make(map[K]*list.Element), byOwner: make(map[owner]*list.List)}
}

func (t *ownedTable[K, V]) len() int { return len(t.entries) }

// get returns the value of a key, or the zero value.
func (t *ownedTable[K, V]) get(key K) (v V) {
	e, ok := t.entries[key]
	if !ok {
		return v
	}
	entry := e.Value.(*ownedEntry[K, V])
	t.byOwner[entry.owner].MoveToFront(e)
	return entry.value
}

// set adds or replaces the value of a key. It returns the value that was removed because the table was full, or the
// zero value.
func (t *ownedTable[K, V]) set(of owner, key K, v V) (removed V) {
	t.delete(key)
	l := t.byOwner[of]
	if l == nil {
		l = list.New()
		t.byOwner[of] = l
	}
	t.entries[key] = l.PushFront(&ownedEntry[K, V]{key, v, of})
	if len(t.entries) <= t.max {
		return removed
	}
	held := make(map[owner]int64, len(t.byOwner))
	for o, l := range t.byOwner {
		held[o] = int64(l.Len())
	}
	last := t.byOwner[loser(held, of)].Back().Value.(*ownedEntry[K, V])
	t.delete(last.key)
	return last.value
}

func (t *ownedTable[K, V]) delete(key K) {
	e, ok := t.entries[key]
	if !ok {
		return
	}
	of := e.Value.(*ownedEntry[K, V]).owner
	delete(t.entries, key)
	if l := t.byOwner[of]; l.Len() > 1 {
		l.Remove(e)
	} else {
		delete(t.byOwner, of)
	}
}
