package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// withFiles returns upstreams with the files that would run, which a lock has. The error names the
// programs that cannot be found; their files are nil.
func (h *hostProcess) withFiles(ctx context.Context, upstreams []host.Upstream) (all []host.Upstream, err error) {
	approved, err := h.approvals.List(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.Clone(upstreams)
	for i := range all {
		u := &all[i]
		if _, isProgram := u.Target.(*mcpclient.CommandTarget); !isProgram {
			continue
		}
		subject, failed := h.subjectOf(ctx, u, approved)
		if failed != nil {
			err = cmp.Or(err, fmt.Errorf("server %q: the files that it runs are not known: %w", u.Key, failed))
			continue
		}
		u.Files = programFiles(subject)
	}
	return all, err
}

// subjectOf returns what an upstream needs approval for, or has it.
func (h *hostProcess) subjectOf(ctx context.Context, u *host.Upstream, approved []approval.Approval) (*approval.Subject, error) {
	pending, err := h.approvals.Check(ctx, u)
	if err != nil {
		return nil, err
	}
	if pending != nil {
		return pending.Subject, nil
	}
	i := slices.IndexFunc(approved, func(a approval.Approval) bool {
		return a.Subject.Name == u.Key && a.Subject.File == u.Origin.File
	})
	if i < 0 {
		return nil, fmt.Errorf("its approval was revoked in the meantime")
	}
	return &approved[i].Subject, nil
}

// programFiles returns the files of a program that run, without links.
func programFiles(s *approval.Subject) []host.ProgramFile {
	files := []host.ProgramFile{}
	for _, f := range s.Program.Files {
		if f.Role != commandfiles.RoleText {
			files = append(files, host.ProgramFile{Path: cmp.Or(f.Target, f.Path), SHA256: f.SHA256})
		}
	}
	return files
}
