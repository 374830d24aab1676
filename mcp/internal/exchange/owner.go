package exchange

import (
	"net/netip"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// Owner returns for whom the message and all that it causes count: the owner of its
// session, or who sent it, where there is none.
func (in *Inbound) Owner() limit.Owner {
	switch {
	case in.Session != nil:
		return in.Session.Owner
	case in.StatelessOwner != nil:
		return *in.StatelessOwner
	}
	return limit.OwnerOf(in.Principal(), netip.Addr{}, 0)
}
