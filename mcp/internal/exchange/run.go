package exchange

import (
	"context"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// maxRunning bounds the requests that one session has running at once. What
// comes on top is refused, so that cancellations can still be read.
const maxRunning = 1024

// retryAfterFull is after what time such a request may be sent again.
const retryAfterFull = time.Second

// Run does a request that has begun and returns its reply. It reports false
// when the caller cancelled the request and so gets none.
type Run func() (reply dialect.Reply, wanted bool)

// Begin enters a request in the books of its session, so that a cancellation
// that comes after it finds it, and returns the rest of the work. That is to be
// called once, on any goroutine. For a request that cannot run it returns the
// refusal.
func (s *Session) Begin(ctx context.Context, core Core, in *Inbound) Run {
	id := in.Message.ID
	if s.Running.Len() >= maxRunning {
		core.LimitReached(mcp.LimitReached{Limit: mcp.LimitSessionCalls, Principal: s.Principal, Method: in.Message.Method})
		return refused(dialect.Refuse(id, mcp.RetryLaterf(mcp.CodeRateLimited, retryAfterFull, "more than %d requests at once", maxRunning)))
	}
	ctx, work := s.Running.Begin(ctx, id)
	if work == nil {
		return refused(dialect.Refuse(id, mcp.Errorf(mcp.CodeInvalidRequest, "id %s: a request of this id is running", id)))
	}
	return func() (dialect.Reply, bool) {
		reply := core.Request(ctx, in)
		return reply, work.End()
	}
}

func refused(reply dialect.Reply) Run {
	return func() (dialect.Reply, bool) { return reply, true }
}
