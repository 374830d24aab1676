package limit

// PoolBounds are the bounds of a Pool in units.
type PoolBounds struct {
	// Total limits what all owners together hold.
	Total int64
	// Each limits what one owner holds: an authenticated principal, or one anonymous
	// session or connection. 0 means no such limit.
	Each int64
	// Principal takes the place of Each for authenticated principals, unless it is 0.
	Principal int64
	// Address limits what one address holds, where addresses distinguish clients. 0 means no
	// such limit. When it is reached, the address loses idle places for a new one. So does one
	// of its sessions or connections that has reached Each, of its own places.
	Address int64
	// Group limits what one group holds: an authenticated principal, one address, or all clients whose
	// address does not distinguish them. 0 means no such limit. When it is reached, the group loses a
	// place of its own as it does in a full pool, or the newcomer is refused.
	Group int64
	// KeepBusy keeps busy places from being taken within the newcomer's own group. Idle ones are
	// taken rather than that a newcomer is refused, unless its group would hold more than theirs.
	KeepBusy bool
	// RenewIdle is for things of which all are idle most of the time, such as values that a
	// client may use again. The member that holds most loses the place that has been idle
	// longest, rather than its newest. Idle places of others go, of the group or member that
	// holds most, for a newcomer that needs more than each of them holds:
	//
	//   - for a group that would hold as much as they do, or at most 1/64 of Total;
	//   - within a group also for a member that holds nothing, or no more than they do, so far.
	RenewIdle bool
}

func (b PoolBounds) each(group Owner) int64 {
	if b.Principal > 0 && group.Principal().Authenticated() {
		return b.Principal
	}
	return b.Each
}
