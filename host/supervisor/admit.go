package supervisor

import (
	"context"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/definition"
)

// admission is the last start of a server: as it was configured then, and as it was started.
type admission struct {
	configured host.Upstream
	started    *host.Upstream // nil before the first start
}

// isOf reports whether it is one of a server as that is configured now. The settings do not matter.
func (a admission) isOf(u *host.Upstream) bool {
	same := *u
	same.Settings = a.configured.Settings
	return a.started != nil && a.configured.Equal(&same)
}

// Admit returns a server as it is started or connected to, if the managed policy, the lock file of its project and the
// user allow it. It is Options.Admit of the gateway.
func (s *Supervisor) Admit(ctx context.Context, u *host.Upstream) (*host.Upstream, error) {
	if err := s.Policy().Check(u); err != nil {
		return nil, err
	}
	admitted, err := s.admitByLockFile(ctx, u)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()                              // a policy that is read later finds the start
	if err := s.policy.Check(admitted); err != nil { // its references are known now
		return nil, err
	}
	s.admitted[u.Key] = admission{*u, admitted}
	return admitted, nil
}

// admitByLockFile is Admit without the managed policy. The lock file is compared before the user is asked,
// and again once the files that run are known.
func (s *Supervisor) admitByLockFile(ctx context.Context, u *host.Upstream) (*host.Upstream, error) {
	if err := definition.CheckLock(u); err != nil {
		return nil, err
	}
	admitted, err := s.opts.Decisions.Admit(ctx, u)
	if err == nil {
		err = definition.CheckLock(admitted)
	}
	if err != nil {
		return nil, err
	}
	return admitted, nil
}
