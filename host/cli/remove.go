package cli

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/storage"
	"github.com/fondaco/fondaco/host/terminal"
)

var removeEntry = commandInfo{
	name: "remove", operands: "NAME", does: "remove a server from the configuration",
	about: `The rest of the file is unchanged. Running hosts stop the server. Its approval,
what you have approved of its definitions, and grants for its tools end: when it
is added again, all is asked again. Tokens of a sign-in stay; "auth logout URL"
removes them.`,
	example: "remove files",
	make:    func() command { return new(removeCommand) },
}

type removeCommand struct {
	output
	path string
}

func (v *removeCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	declareConfig(f, &v.path)
}

// removedServer says what was removed with a server.
type removedServer struct {
	Name        string `json:"name"`
	Path        string `json:"path"`
	Approvals   int    `json:"approvals"`
	Definitions bool   `json:"definitions"`
	Grants      int    `json:"grants"`
}

func (v *removeCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) != 1 {
		return usagef("found %d names, want the name of one server", len(operands))
	}
	path, err := m.configPath(v.path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return err
	}
	name := operands[0]
	change, key, names, err := config.Remove(path, name)
	switch {
	case err != nil:
		return &codedError{exitUsage, err}
	case change.New:
		return usagef("server %q: unknown; there is no file %s", name, path)
	case change.Empty():
		return usagef("server %q: unknown%s; it is not in %s", name, didYouMean(name, names), path)
	}
	s, err := m.openServerState()
	if err != nil {
		return err
	}
	upstream := m.configuredUpstream(path, key)
	if _, err := change.Write(""); err != nil {
		return err
	}
	removed := removedServer{Name: key, Path: path}
	if err := s.forget(ctx, &removed, upstream); err != nil {
		return fmt.Errorf("%s is removed from %s, but: %w; %s approvals revoke %s ends its approval", key, path, err, m.program(), key)
	}
	if v.json {
		return m.WriteDocument(terminal.Document{"removed": removed})
	}
	m.Info("removed %s from %s; ended: approvals %d, grants %d", key, path, removed.Approvals, removed.Grants)
	return nil
}

// configuredUpstream returns a server of a configuration file, nil if it is disabled or cannot be
// read.
func (m *Main) configuredUpstream(path, name string) *host.Upstream {
	c, err := config.Load(path, &config.Options{Env: m.Getenv, Ask: placeholder})
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(c.Upstreams, func(u host.Upstream) bool { return u.Key == name })
	if i < 0 {
		return nil
	}
	return &c.Upstreams[i]
}

// serverState is what is stored about servers.
type serverState struct {
	main      *Main
	record    auditFunc
	values    storage.State
	approvals *approval.Store
	questions *userQuestions
}

// openServerState opens what is stored about servers, and the audit log.
func (m *Main) openServerState() (s *serverState, err error) {
	s = &serverState{main: m}
	if s.record, err = m.commandAudit(); err != nil {
		return nil, err
	}
	if s.values, err = m.storage().State(); err != nil {
		return nil, err
	}
	if s.approvals, err = m.newApprovals(s.values, nil); err != nil {
		return nil, err
	}
	s.questions, err = m.openQuestions(s.record)
	return s, err
}

// forget deletes the approval of a server that is not configured any more, its grants and what
// was approved of its definitions, each with a line of the audit log. Grants and definitions stay if
// a server of that name in another file is approved, because they may be of that one. Definitions
// stay without an upstream, too, because it identifies them.
func (s *serverState) forget(ctx context.Context, removed *removedServer, u *host.Upstream) error {
	all, err := s.approvals.List(ctx)
	if err != nil {
		return err
	}
	others := false
	for i := range all {
		switch subject := &all[i].Subject; {
		case subject.Name != removed.Name:
			continue
		case subject.File != removed.Path:
			others = true
			continue
		}
		if err := s.recordRevoked(removed.Name, "the approval of the server, which was removed by the user"); err != nil {
			return err
		}
		if err := s.approvals.Revoke(ctx, &all[i]); err != nil {
			return err
		}
		removed.Approvals++
	}
	if others {
		return nil
	}
	if u == nil {
		s.main.Message("what you have approved of the definitions of %s stays, because its entry was disabled or cannot be read", removed.Name)
	} else {
		removed.Definitions, err = definition.New(s.values, nil).Forget(ctx, u, func() error {
			return s.recordRevoked(removed.Name, "what was approved of its definitions, because the server was removed by the user")
		})
		if err != nil {
			return err
		}
	}
	grants, err := s.questions.calls.Revoke(ctx, func(g *consent.Grant) bool { return g.Server == removed.Name }, "the server was removed by "+s.main.userName())
	removed.Grants = len(grants)
	return err
}

func (s *serverState) recordRevoked(server, what string) error {
	return s.record(host.Decision{Time: time.Now(), Upstream: server, Action: host.ActionRevoke, Outcome: host.OutcomeDone, Reason: what})
}
