package supervisor

import (
	"errors"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
)

// Load reads the configuration for the first time.
func (s *Supervisor) Load() (err error) {
	upstreams, err := s.read(false)
	if err != nil {
		return err
	}
	s.Use(upstreams)
	return nil
}

// read reads the configuration, without what the policy denies.
func (s *Supervisor) read(again bool) ([]host.Upstream, error) {
	s.noteVersion() // before the file is read, so that no change is missed
	all, err := s.opts.Read(again)
	if err != nil {
		return nil, err
	}
	return s.selected(s.underPolicy(all)), nil
}

// selected returns the upstream with the key of Options.Only, or all if there is none, so that
// the error can list them.
func (s *Supervisor) selected(all []host.Upstream) []host.Upstream {
	i := slices.IndexFunc(all, func(u host.Upstream) bool { return u.Key == s.opts.Only })
	if i < 0 {
		return all
	}
	return all[i : i+1]
}

// Reload applies the current content of the file and of the managed policy. If the file has errors the servers go on as
// they are, under the policy of now. If the policy cannot be read all servers are stopped. The error was shown to the
// user.
func (s *Supervisor) Reload() error {
	if s.opts.Path == "" {
		return errors.New("the demonstration has no configuration")
	}
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if err := s.reloadPolicy(); err != nil {
		s.noteVersion()
		s.opts.Message("%s\n  all servers are stopped", terminal.Clean(err.Error()))
		s.replace(nil)
		return err
	}
	upstreams, err := s.read(true)
	if err != nil {
		s.opts.Message("configuration: %s\n  the running servers are unchanged", terminal.Clean(err.Error()))
		s.replace(s.underPolicy(s.Servers()))
		s.reportDenied()
		return err
	}
	s.reportDenied()
	if s.opts.OnRead != nil {
		s.opts.OnRead(upstreams)
	}
	s.Use(upstreams)
	s.replace(upstreams)
	s.opts.Message("configuration: reloaded")
	return nil
}

func (s *Supervisor) reportDenied() {
	if s.opts.OnDenied != nil {
		s.opts.OnDenied()
	}
}

// reloadPolicy reads the managed policy again. If it cannot be read no server may run.
func (s *Supervisor) reloadPolicy() error {
	p, err := s.opts.ReadPolicy()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy = p
	return nil
}

// underPolicy returns the servers that the managed policy allows now, with settings as strict as it wants, and shows
// what it has changed.
func (s *Supervisor) underPolicy(all []host.Upstream) (allowed []host.Upstream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = nil
	for _, u := range all {
		err := s.policy.Check(&u)
		if last := s.admitted[u.Key]; err == nil && last.isOf(&u) {
			err = s.policy.Check(last.started) // its references are known
		}
		if err != nil {
			s.opts.Message("  denied     %s", terminal.CleanLine(err.Error()))
			s.denied = append(s.denied, Denial{u.Key, err})
			continue
		}
		u, changed := s.policy.Restrict(u)
		for _, c := range changed {
			s.opts.Message("  restricted %s: %s, by the managed policy", u.Key, c)
		}
		allowed = append(allowed, u)
	}
	s.allDenied = len(allowed) == 0 && len(all) > 0
	return allowed
}

// noteVersion notes the version of the file, which is read next.
func (s *Supervisor) noteVersion() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = VersionOf(s.opts.Path)
}

// hasChanged reports whether the file has changed since it was last read.
func (s *Supervisor) hasChanged() bool {
	now := VersionOf(s.opts.Path)
	s.mu.Lock()
	defer s.mu.Unlock()
	return now != s.version
}
