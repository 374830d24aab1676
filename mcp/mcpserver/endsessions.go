package mcpserver

import (
	"context"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// EndSessions ends the sessions and connections whose client matches, such as those of
// revoked credentials: it cancels their running requests, ends their streams and closes
// their connections, and returns how many there were. The id of an ended session is unknown
// to this process from then on, as are those of the last 65,536 sessions that were ended.
// match gets the principal, and what the client has declared about itself in initialize, nil
// before that and in the stateless era. It is called without a lock.
//
// A client can open another session at once, so refuse its credentials before, everywhere. Other
// processes with the same Options.Keys refuse the id if they share Options.Store and
// Options.Bus, too; otherwise they accept it until it expires. Sessions that only other
// processes serve now are not found. While the Store fails, EndSessions waits for up to ten
// seconds, after the sessions have ended here. Requests of the
// stateless era over HTTP, and those without a session, belong to no session: cancel the
// contexts of their HTTP requests.
func (s *Server) EndSessions(match func(mcp.Principal, *mcp.Implementation) bool) (ended int) {
	var shared []exchange.Shared
	for _, session := range s.sessions.all() {
		var client *mcp.Implementation
		if agreed := session.Agreed(); agreed != nil && agreed.Client != nil {
			client = new(*agreed.Client)
		}
		if match(session.Principal, client) {
			if session.Shared != nil {
				shared = append(shared, session.Shared)
			}
			session.End()
			ended++
		}
	}
	endShared(shared)
	return ended
}

// endSharedTimeout bounds the time in which sessions are ended for the other replicas.
const endSharedTimeout = 10 * time.Second

// endShared ends sessions for the other replicas. The Store may fail, which is logged.
func endShared(sessions []exchange.Shared) {
	ctx, cancel := context.WithTimeout(context.Background(), endSharedTimeout)
	defer cancel()
	const atOnce = 32
	var work sync.WaitGroup
	next := make(chan exchange.Shared)
	for range min(atOnce, len(sessions)) {
		work.Go(func() {
			for s := range next {
				_ = s.End(ctx)
			}
		})
	}
	for _, s := range sessions {
		next <- s
	}
	close(next)
	work.Wait()
}
