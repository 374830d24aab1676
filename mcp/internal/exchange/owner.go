package exchange

import (
	"net/netip"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// Owner returns the owner to which limits charge the message and everything that it causes:
// the owner of its session or, without a session, the sender.
func (in *Inbound) Owner() limit.Owner {
	switch {
	case in.Session != nil:
		return in.Session.Owner
	case in.StatelessOwner != nil:
		return *in.StatelessOwner
	}
	return limit.OwnerOf(in.Principal(), netip.Addr{}, 0)
}
