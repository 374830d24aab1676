package approval

import (
	"cmp"
	"context"
	"encoding/json/v2"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Pending is a server that needs approval.
type Pending struct {
	Upstream *host.Upstream
	// Subject is what the user is asked to approve.
	Subject *Subject
	// Before is the approval that no longer covers it. It is nil for a server that was
	// never approved, or whose approval was revoked.
	Before *Approval
	// Changes says what differs from Before.
	Changes []string

	// Proxies are the variables of the host with the URL of a proxy that the program does not get, because
	// it has a user or password. With PassProxies it gets them once it is approved. What an approval
	// has passed to a program that has changed since is asked for again.
	Proxies     []string
	PassProxies bool

	// Tools are what the server is known to have, nil if it has never listed its tools. Only Questions finds them.
	Tools *Tools

	replaced []commandfiles.File // the new interpreters, if nothing else has changed
}

// Tools are the tools that a server has listed, as it describes them itself.
type Tools struct {
	// Count is the number of all, and Others are the names of those that it does not call read-only.
	Count  int
	Others []string
}

// Check returns what an upstream needs approval for, nil if it is approved. The error says
// why it can neither be approved nor started.
func (s *Store) Check(ctx context.Context, u *host.Upstream) (*Pending, error) {
	p, _, err := s.check(ctx, u)
	return p, err
}

func (s *Store) check(ctx context.Context, u *host.Upstream) (*Pending, *commandfiles.Found, error) {
	subject, files, err := s.describe(ctx, u)
	if err != nil || subject == nil {
		return nil, nil, err
	}
	before, err := s.read(ctx, u)
	if err != nil {
		return nil, nil, err
	}
	if before == nil {
		return &Pending{Upstream: u, Subject: subject, Proxies: withheldProxies(u)}, files, nil
	}
	if before.Subject.equal(subject) {
		return nil, files, nil
	}
	p := &Pending{Upstream: u, Subject: subject, Before: before, Changes: changes(&before.Subject, subject), Proxies: withheldProxies(u)}
	replaced := replacedFiles(&before.Subject, subject)
	if s.canCarryOver(replaced) {
		if err := s.carryOver(ctx, u, before, subject, p.Changes); err != nil {
			return nil, nil, err
		}
		return nil, files, nil
	}
	if onlyInterpreters(replaced) {
		p.replaced = newFiles(replaced)
	}
	return p, files, nil
}

// describe returns the subject of an upstream, and the files of a program. It returns nil for an
// upstream that is part of the host. The error says why the upstream cannot be started.
func (s *Store) describe(ctx context.Context, u *host.Upstream) (*Subject, *commandfiles.Found, error) {
	t, isProgram := u.Target.(*mcpclient.CommandTarget)
	if !isProgram && u.Source == nil {
		return nil, nil, nil
	}
	key, err := s.key(ctx)
	if err != nil {
		return nil, nil, err
	}
	d := s.describer(u, key)
	subject := &Subject{Name: u.Key, File: u.Origin.File, Project: u.Origin.Project, Roots: d.roots(u.Settings.Roots)}
	var files *commandfiles.Found
	if isProgram {
		subject.Program, files, err = d.program(t)
	} else {
		subject.Remote, err = d.remote()
	}
	if err == nil {
		_, err = json.Marshal(subject) // fails for paths that are not UTF-8, which would be mistaken for each other
	}
	if err != nil {
		return nil, nil, err
	}
	return subject, files, nil
}

func (s *Store) describer(u *host.Upstream, key []byte) *describer {
	return &describer{upstream: u, key: key, home: s.home, checkLocal: func(path string) error { return s.checkLocal(path, u.Origin.Project) }}
}

// Approve approves a server as it was shown to the user.
func (s *Store) Approve(ctx context.Context, p *Pending, by string) error {
	a := &Approval{Subject: *p.Subject, At: time.Now().UTC(), By: by}
	if p.PassProxies {
		a.Proxies = p.Proxies
	}
	return s.write(ctx, p.Upstream, a)
}

// Admit returns an upstream to start or to connect to, with its references expanded. Its
// program is started only while its files are the approved ones. If the upstream is not
// approved the error wraps host.ErrNeedsApproval.
func (s *Store) Admit(ctx context.Context, u *host.Upstream) (*host.Upstream, error) {
	p, files, err := s.check(ctx, u)
	switch {
	case err != nil:
		return nil, err
	case p != nil:
		return nil, fmt.Errorf("%w: %s", host.ErrNeedsApproval, p.Subject)
	}
	resolved, err := u.Resolved(ctx)
	if err != nil {
		return nil, err
	}
	t, isProgram := resolved.Target.(*mcpclient.CommandTarget)
	if !isProgram {
		return resolved, nil
	}
	if files == nil {
		return nil, fmt.Errorf("server %q: a remote server has become a program", u.Key)
	}
	if err := files.Verify(); err != nil { // what the references stand for was read meanwhile
		return nil, fmt.Errorf("server %q: %w", u.Key, err)
	}
	admitted, program := *resolved, *t
	if err := s.passProxies(ctx, u, &program); err != nil {
		return nil, err
	}
	program.Path, program.Open, program.Verify = files.Files[0].Path, files.Open, files.Verify
	admitted.Target, admitted.Files = &program, programFiles(files)
	return &admitted, nil
}

// programFiles returns the files of a program for others that decide about their content, so
// that they need not read them again.
func programFiles(found *commandfiles.Found) (all []host.ProgramFile) {
	for _, f := range found.Files {
		if f.Role != commandfiles.RoleText {
			all = append(all, host.ProgramFile{Path: cmp.Or(f.Target, f.Path), SHA256: f.SHA256})
		}
	}
	return all
}
