package catalog

import (
	"context"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// ReadAgainFor reads the lists again that may contain the tool or prompt that a request names, and
// reports whether the request is to be repeated.
func (s *Source) ReadAgainFor(ctx context.Context, r *mcpserver.Request, wire string) bool {
	return readAgain{s}.do(ctx, r, wire)
}

// readAgain reads lists again because of a request that names an unknown tool or prompt.
type readAgain struct{ *Source }

func (a readAgain) do(ctx context.Context, r *mcpserver.Request, wire string) bool {
	if a.View(link.CallerOf(r)).Offers(r.Method(), wire) { // and the upstream has refused the request
		if a.Catalog().ages && a.unknownNames.take(r.Owner()) {
			a.Pool.SharedConn().BeginRefresh()
		}
		return false
	}
	if a.waitForPendingReads(ctx, r) && a.View(link.CallerOf(r)).Offers(r.Method(), wire) {
		return true
	}
	waits := a.beginReadsFor(r)
	if read := a.ReadCapabilityList(link.CapabilitiesOf(r), r.Owner()); read != nil {
		waits = append(waits, read.Wait)
	}
	for _, wait := range waits {
		wait(ctx)
	}
	if len(waits) == 0 {
		return false
	}
	found := a.View(link.CallerOf(r)).Offers(r.Method(), wire)
	a.unknownNames.ended(r.Owner(), found)
	return found
}

// beginReadsFor begins to read the lists that may contain a feature that a caller names: the shared
// lists, if the upstream cannot announce changes, and those of the caller's own connections.
func (a readAgain) beginReadsFor(r *mcpserver.Request) (waits []func(context.Context)) {
	connections := a.ownConnections(r)
	if a.Catalog().ages {
		connections = append(connections, a.Pool.SharedConn())
	}
	connections = slices.DeleteFunc(connections, func(conn *link.Conn) bool {
		state, _ := conn.State()
		return state != host.Ready
	})
	if len(connections) == 0 || !a.unknownNames.take(r.Owner()) {
		return nil
	}
	for _, conn := range connections {
		waits = append(waits, conn.BeginRefresh())
	}
	return waits
}

// waitForPendingReads waits until the host has read the lists whose change the upstream has
// announced, if they may contain a feature that a caller names. It reports false if no read is
// pending. Lists are read at most once a second, so a caller may name a new feature before the host
// knows it.
func (a readAgain) waitForPendingReads(ctx context.Context, r *mcpserver.Request) (waited bool) {
	for _, conn := range append(a.ownConnections(r), a.Pool.SharedConn()) {
		waited = conn.WaitForRefresh(ctx) || waited
	}
	return waited
}

// ownConnections returns the connections of a caller that may have features of their own.
func (a readAgain) ownConnections(r *mcpserver.Request) []*link.Conn {
	if a.Settings.Share || !a.HasOwnFeatures() {
		return nil
	}
	return slices.Collect(a.Pool.Of(link.CallerOf(r)))
}
