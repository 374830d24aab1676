package cli

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/terminal"
)

var grantsEntry = commandInfo{
	name: "grants", operands: "[revoke [ID...]]", does: "list or revoke what you have allowed for longer than one call",
	about: `A grant ends by itself when the definition of its tool changes. The arguments of
its calls are shown, without secrets, for tools of "auditArguments" in the
settings of the server. "grants revoke" takes the numbers of grants, or --server,
or --all.`,
	example: "grants revoke 7",
	make:    func() command { return new(grantsCommand) },
}

type grantsCommand struct {
	output
	server string
	all    bool
}

func (v *grantsCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	f.StringVar(&v.server, "server", "", "revoke the grants for a server `NAME`")
	f.BoolVar(&v.all, "all", false, "revoke all grants")
}

func (v *grantsCommand) run(ctx context.Context, m *Main, operands []string) error {
	revoke := len(operands) > 0
	switch {
	case revoke && operands[0] != "revoke":
		return usagef("found %q, want revoke", operands[0])
	case !revoke && (v.server != "" || v.all):
		return usagef("found --server or --all without revoke, want: %s grants revoke", m.program())
	}
	var log auditFunc
	if revoke {
		var err error
		if log, err = m.commandAudit(); err != nil {
			return err
		}
	}
	q, err := m.openQuestions(log)
	if err != nil {
		return err
	}
	if revoke {
		return v.revoke(ctx, m, q, operands[1:])
	}
	return v.list(ctx, m, q)
}

func (v *grantsCommand) list(ctx context.Context, m *Main, q *userQuestions) error {
	all, err := q.calls.Grants.List(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b consent.Grant) int { return cmp.Compare(a.Created.UnixNano(), b.Created.UnixNano()) })
	if v.json {
		return m.WriteDocument(terminal.Document{"grants": append([]consent.Grant{}, all...)})
	}
	if len(all) == 0 {
		m.Info("there are no grants")
	}
	t := terminal.Table{Head: []string{"ID", "CALLS", "FOR", "BY", "UNTIL"}}
	for _, g := range all {
		calls, until := describeGrant(&g)
		t.Rows = append(t.Rows, []string{g.ID, calls, string(g.Scope), g.By, until})
	}
	return m.WriteTable(t)
}

func (v *grantsCommand) revoke(ctx context.Context, m *Main, q *userQuestions, ids []string) error {
	ways := 0
	for _, given := range []bool{len(ids) > 0, v.server != "", v.all} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return usagef("want the numbers of grants, --server or --all; %s grants lists them", m.program())
	}
	revoked, err := q.calls.Revoke(ctx, func(g *consent.Grant) bool {
		return v.all || g.Server == v.server || slices.Contains(ids, g.ID)
	}, "by "+m.userName())
	for _, g := range revoked {
		m.Info("grant %s is revoked", g.ID)
	}
	switch {
	case err != nil || len(revoked) > 0:
	case v.all:
		m.Info("there are no grants")
	default:
		return usagef("no such grant; %s grants lists them", m.program())
	}
	return err
}

// describeGrant says for which calls a grant holds.
func describeGrant(g *consent.Grant) (calls, until string) {
	calls = g.Server + "/" + g.Tool
	if g.Scope == consent.ReadOnly {
		calls = fmt.Sprintf("%s: %d read-only tools", g.Server, len(g.Tools))
	}
	switch {
	case g.ArgumentsText != "":
		calls += " " + g.ArgumentsText
	case g.Arguments != "":
		calls += " with identical arguments"
	}
	if until = "revoked"; !g.Expires.IsZero() {
		until = g.Expires.Local().Format(time.DateTime)
	}
	return calls, until
}
