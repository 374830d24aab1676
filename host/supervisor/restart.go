package supervisor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/fondaco/fondaco/host"
)

// Restart ends the connections and processes of a server, and starts it again. It passes all checks of a start.
func (s *Supervisor) Restart(key string) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if _, err := s.Server(key); err != nil {
		return err
	}
	return s.restart(func(u *host.Upstream) bool { return u.Key == key }, fmt.Errorf("server %q: the managed policy does not let it run", key))
}

// restart restarts the servers of which ends reports true. If there is none it returns an error. The caller holds
// reloading.
func (s *Supervisor) restart(ends func(*host.Upstream) bool, none error) error {
	all := s.allowedServers()
	remaining := slices.DeleteFunc(slices.Clone(all), func(u host.Upstream) bool { return ends(&u) })
	if len(remaining) == len(all) {
		return none
	}
	s.replace(remaining) // ends their connections and processes
	s.replace(all)
	return nil
}

// IsOff reports whether a server was switched off.
func (s *Supervisor) IsOff(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.off[key]
}

// SetOff switches a server off, until it is switched on or this process ends. What is switched on passes all checks of
// a start.
func (s *Supervisor) SetOff(key string, off bool) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if _, err := s.Server(key); err != nil {
		return err
	}
	all := s.Servers()
	s.mu.Lock()
	if s.off == nil {
		s.off = make(map[string]bool)
	}
	maps.DeleteFunc(s.off, func(key string, _ bool) bool { // what the file no longer has
		return !slices.ContainsFunc(all, func(u host.Upstream) bool { return u.Key == key })
	})
	if s.off[key] = off; !off {
		delete(s.off, key)
	}
	s.mu.Unlock()
	s.replace(s.allowedServers())
	return nil
}

// allowedServers returns the servers that the policy allows, also those that are switched off.
func (s *Supervisor) allowedServers() []host.Upstream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.allowed
}

// replace replaces the servers of the gateway by those that the policy allows, without those that are switched off. The
// caller holds reloading.
func (s *Supervisor) replace(all []host.Upstream) {
	s.mu.Lock()
	s.allowed = all
	on := slices.DeleteFunc(slices.Clone(all), func(u host.Upstream) bool { return s.off[u.Key] })
	s.mu.Unlock()
	s.gateway.Reload(on)
	if s.opts.OnReplaced != nil {
		s.opts.OnReplaced(on)
	}
}

// stopRevoked stops the servers whose approval was revoked. They are started again when
// they are approved.
func (s *Supervisor) stopRevoked(ctx context.Context) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	statuses := s.gateway.Status()
	_ = s.restart(func(u *host.Upstream) bool {
		i := slices.IndexFunc(statuses, func(s host.Status) bool { return s.Key == u.Key })
		return i >= 0 && statuses[i].State != host.NeedsApproval && s.opts.Decisions.IsRevoked(ctx, u)
	}, nil)
}
