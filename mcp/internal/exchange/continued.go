package exchange

import (
	"context"
	"errors"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Continuer is the BackChannel of a request to which any process can send the reply, if the one
// that has received the request ends: the client resumes the stream there.
type Continuer interface {
	// Continue arranges that the reply is that of work, see Core.Continued, for as long as the
	// work and the session live. It returns when both end, or false if the reply is lost with
	// this process, as that of other requests.
	Continue(ctx context.Context, work string, expires time.Time) (time.Time, bool)
	// OnReplyStored has f called, on a goroutine of its own, when other processes have the reply
	// of this one.
	OnReplyStored(f func())
	// Leave has the stream end without a reply of this process.
	Leave()
}

// ErrContinued is the cause with which a request ends whose reply is sent on another stream.
var ErrContinued = errors.New("the reply is sent on another stream")

// BeginContinued is Begin for a request that another process has received, and whose reply is
// that of work. It ends a request with the same id: this process, too, has waited for the work
// before, while it was taken for dead.
func (s *Session) BeginContinued(ctx context.Context, core Core, in *Inbound, work string) Run {
	ctx, running := s.Running.Replace(ctx, in.Message.ID, ErrContinued)
	return func() (dialect.Reply, bool) {
		reply := core.Continued(ctx, in, work)
		return reply, running.End()
	}
}
