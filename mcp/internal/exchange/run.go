package exchange

import (
	"context"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// maxRunning bounds the requests that run in one session at once. Further requests are
// refused instead of queued, so that cancellations are still read.
const maxRunning = 1024

// retryAfterFull is the time after which such a request may be sent again.
const retryAfterFull = time.Second

// Run processes a request that Begin has registered, and returns its reply. wanted is false
// if the client has cancelled the request and gets no reply.
type Run func() (reply dialect.Reply, wanted bool)

// Begin registers a request in its session, so that a later cancellation finds it, and
// returns the function that processes it. The function must be called once, on any
// goroutine. For a request that cannot run, the function returns the refusal.
func (s *Session) Begin(ctx context.Context, core Core, in *Inbound) Run {
	id := in.Message.ID
	if s.Running.Len() >= maxRunning {
		core.LimitReached(mcp.LimitReached{Limit: mcp.LimitSessionCalls, Principal: s.Principal, Method: in.Message.Method})
		return refused(dialect.Refuse(id, mcp.PeerRetryLaterf(mcp.CodeRateLimited, retryAfterFull, "more than %d requests at once", maxRunning)))
	}
	ctx, work := s.Running.Begin(ctx, id)
	if work == nil {
		return refused(dialect.Refuse(id, mcp.Errorf(mcp.CodeInvalidRequest, "id %s: a request with this id is running", id)))
	}
	return func() (dialect.Reply, bool) {
		reply := core.Request(ctx, in)
		return reply, work.End()
	}
}

func refused(reply dialect.Reply) Run {
	return func() (dialect.Reply, bool) { return reply, true }
}
