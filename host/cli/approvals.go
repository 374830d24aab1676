package cli

import (
	"cmp"
	"context"
	"flag"
	"path/filepath"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/terminal"
)

var approvalsEntry = commandInfo{
	name: "approvals", operands: "[revoke SERVER]", does: "list or revoke approvals of servers",
	about: `Without operands it lists the servers that you have approved, with the files
that name them. revoke deletes the approvals of a server: running hosts stop it,
and it needs approval again. With --config only servers of FILE count.`,
	example: "approvals revoke files",
	make:    func() command { return new(approvalsCommand) },
}

type approvalsCommand struct {
	output
	config string
}

func (v *approvalsCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	f.StringVar(&v.config, "config", "", "only approvals of the servers of `FILE`")
}

func (v *approvalsCommand) run(ctx context.Context, m *Main, operands []string) error {
	s, err := m.storage().State()
	if err != nil {
		return err
	}
	approvals, err := m.newApprovals(s, nil)
	if err != nil {
		return err
	}
	all, err := approvals.List(ctx)
	if err != nil {
		return err
	}
	if v.config != "" {
		if all, err = ofFile(all, v.config); err != nil {
			return err
		}
	}
	switch {
	case len(operands) == 0:
		return v.list(m, all)
	case operands[0] != "revoke":
		return usagef("found %q, want revoke%s", operands[0], didYouMean(operands[0], []string{"revoke"}))
	case len(operands) != 2:
		return usagef("found %d names, want one", len(operands)-1)
	}
	return v.revoke(ctx, m, approvals, all, operands[1])
}

// ofFile returns the approvals of the servers of a configuration file.
func ofFile(all []approval.Approval, path string) (some []approval.Approval, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	for _, a := range all {
		if a.Subject.File == path {
			some = append(some, a)
		}
	}
	return some, nil
}

func (v *approvalsCommand) list(m *Main, all []approval.Approval) error {
	if v.json {
		return m.WriteDocument(terminal.Document{"approvals": append([]approval.Approval{}, all...)})
	}
	t := terminal.Table{Head: []string{"SERVER", "APPROVED", "HOW", "FILE", "WHAT"}}
	for _, a := range all {
		t.Rows = append(t.Rows, []string{a.Subject.Name, a.At.Local().Format(time.DateTime), a.By, a.Subject.File, a.Subject.String()})
	}
	if len(all) == 0 {
		m.Info("no server is approved")
	}
	return m.WriteTable(t)
}

// revoke deletes the approvals of a server, each after it was recorded.
func (v *approvalsCommand) revoke(ctx context.Context, m *Main, approvals *approval.Store, all []approval.Approval, name string) error {
	record, err := m.commandAudit()
	if err != nil {
		return err
	}
	var names []string
	revoked := 0
	for i := range all {
		s := &all[i].Subject
		names = append(names, s.Name)
		if s.Name != name {
			continue
		}
		if err := record(host.Decision{
			Time: time.Now(), Upstream: name, Action: host.ActionRevoke, Outcome: host.OutcomeDone, Reason: "the approval of the server, by the user",
		}); err != nil {
			return err
		}
		if err := approvals.Revoke(ctx, &all[i]); err != nil {
			return err
		}
		m.Info("%s of %s needs approval again", name, cmp.Or(s.File, "the host"))
		revoked++
	}
	if revoked == 0 {
		return usagef("server %q: there is no approval of it%s", strings.TrimSpace(name), didYouMean(name, names))
	}
	return nil
}
