package supervisor

import (
	"context"
	"os"
	"time"

	"github.com/fondaco/fondaco/host"
)

// watchInterval is how often files and decisions are checked.
const watchInterval = 500 * time.Millisecond

// Watch applies changes of the file, of the managed policy and of decisions, and reloads when reload receives, until ctx
// is done. Without a file it does nothing.
func (s *Supervisor) Watch(ctx context.Context, reload <-chan os.Signal) {
	if s.opts.Path == "" {
		return
	}
	managed, decided := s.opts.PolicyVersion, s.opts.Decisions.Versions()
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-reload:
			_ = s.Reload() // it shows its error
		case <-tick.C:
			if s.hasChanged() {
				_ = s.Reload()
			}
			if now := VersionOf(s.opts.PolicyPath); now != managed {
				managed = now
				_ = s.Reload()
			}
			decided = s.applyDecisions(ctx, decided)
		}
	}
}

// applyDecisions applies what has changed since decisions were of the versions before, and returns their versions.
func (s *Supervisor) applyDecisions(ctx context.Context, before Versions) (now Versions) {
	now = s.opts.Decisions.Versions()
	if now.Approvals != before.Approvals {
		s.stopRevoked(ctx)
	}
	if now.SignIns != before.SignIns {
		s.clearMissingScopes(ctx)
	}
	if now != before {
		s.retryBlocked()
	}
	return now
}

// retryBlocked retries the servers that need an approval or a sign-in.
func (s *Supervisor) retryBlocked() {
	for _, status := range s.gateway.Status() {
		if status.State == host.NeedsApproval || status.State == host.NeedsSignIn || status.WaitingCount > 0 {
			s.gateway.Retry(status.Key)
		}
	}
}

// clearMissingScopes forgets the scopes that calls have lacked, where a sign-in in this process or another has
// requested them.
func (s *Supervisor) clearMissingScopes(ctx context.Context) {
	for _, status := range s.gateway.Status() {
		if len(status.MissingScopes) == 0 {
			continue
		}
		s.mu.Lock()
		u := s.admitted[status.Key].started
		s.mu.Unlock()
		if u == nil || !s.opts.Decisions.LacksScopes(ctx, u) { // nil: it was never connected to
			s.gateway.ClearMissingScopes(status.Key)
		}
	}
}
