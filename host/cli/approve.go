package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
)

var approveEntry = commandInfo{
	name: "approve", operands: "[SERVER | SERVER/TOOL]", does: "approve a program, or a changed tool",
	about: `It shows the whole program, or the changes of the tool, and asks. Without a
terminal --yes is required. Without a name it lists what needs approval.
Without --config it uses the servers of the running host, which continues by
itself, or else those of the user's own configuration.`,
	example: "approve files",
	make:    func() command { return new(approveCommand) },
}

type approveCommand struct {
	output
	hostProcess
}

func (v *approveCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	f.StringVar(&v.hostProcess.config, "config", "", "use the servers of `FILE`")
	f.BoolVar(&v.yes, "yes", false, "approve without being asked")
}

// pendingApproval is a program or a tool definition that needs approval.
type pendingApproval struct {
	upstream *host.Upstream
	program  *consent.Program // nil for a tool
	tool     host.Withheld
}

func (w *pendingApproval) name() string {
	if w.program != nil {
		return w.upstream.Key
	}
	return w.upstream.Key + "/" + w.tool.Tool
}

func (v *approveCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 1 {
		return usagef("found %d names, want one or none", len(operands))
	}
	if r, err := m.runningHost(ctx); err == nil && r != nil && v.hostProcess.config == "" {
		v.hostProcess.config = r.status.Config
	}
	if err := v.openForApproval(m); err != nil {
		return err
	}
	all, err := v.pending()
	switch {
	case err != nil:
		return err
	case len(operands) == 0:
		return v.list(m, all)
	}
	i := slices.IndexFunc(all, func(w pendingApproval) bool { return w.name() == operands[0] })
	if i < 0 {
		return v.nothingPending(m, operands[0], all)
	}
	return v.askAndApprove(ctx, m, &all[i])
}

// pending returns what needs approval, in the order of the configuration. Programs that
// do not exist are left out.
func (v *approveCommand) pending() ([]pendingApproval, error) {
	var all []pendingApproval
	for i := range v.upstreams {
		u := &v.upstreams[i]
		p, isProgram, err := v.approvals.ProgramOf(u)
		if isProgram && err == nil {
			approved, err := v.approvals.Approved(u, p)
			if err != nil {
				return nil, err
			}
			if !approved {
				all = append(all, pendingApproval{upstream: u, program: &p})
			}
		}
		withheld, err := v.approvals.Withheld(u)
		if err != nil {
			return nil, err
		}
		for _, w := range withheld {
			all = append(all, pendingApproval{upstream: u, tool: w})
		}
	}
	return all, nil
}

// list prints what needs approval.
func (v *approveCommand) list(m *Main, all []pendingApproval) error {
	t := table{head: []string{"NAME", "WHAT"}}
	var items []any
	for _, w := range all {
		if w.program != nil {
			t.rows = append(t.rows, []string{w.name(), w.program.String()})
			items = append(items, document{"name": w.name(), "program": w.program})
			continue
		}
		t.rows = append(t.rows, []string{w.name(), "the tool has changed"})
		items = append(items, document{"name": w.name(), "tool": w.tool})
	}
	if v.json {
		return m.writeDocument(document{"waiting": append([]any{}, items...)})
	}
	if len(all) == 0 {
		m.info("nothing waits for approval")
	}
	return m.writeTable(t)
}

// nothingPending explains why a name cannot be approved.
func (v *approveCommand) nothingPending(m *Main, written string, all []pendingApproval) error {
	key, _, isTool := strings.Cut(written, "/")
	i := slices.IndexFunc(v.upstreams, func(u host.Upstream) bool { return u.Key == key })
	var names []string
	for _, w := range all {
		names = append(names, w.name())
	}
	if i < 0 {
		for _, u := range v.upstreams {
			names = append(names, u.Key)
		}
		return usagef("server %q: unknown%s; it is not in %s", key, didYouMean(written, names), v.path)
	}
	if _, _, err := v.approvals.ProgramOf(&v.upstreams[i]); err != nil && !isTool {
		return codedErrorf(exitUnreachable, "%w", err)
	}
	if better := didYouMean(written, names); better != "" {
		return usagef("nothing of %q waits for approval%s", written, better)
	}
	m.info("%s: nothing waits for approval", written)
	return nil
}

// askAndApprove shows a pending approval, asks, and stores the answer.
func (v *approveCommand) askAndApprove(ctx context.Context, m *Main, w *pendingApproval) error {
	if w.program != nil {
		m.showProgram(w.upstream, *w.program)
	} else {
		m.message("\nThe tool %s has changed since it was approved:\n\n%s", w.name(), strings.TrimRight(w.tool.Diff, "\n"))
	}
	if !v.yes {
		if !m.Interactive {
			return codedErrorf(exitConsent, "there is no terminal to ask on; --yes approves without asking")
		}
		answer, err := m.ask(ctx, "\nApprove it? [y/N]")
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case !isYes(answer):
			return codedErrorf(exitConsent, "%s is not approved", w.name())
		}
	}
	if err := v.approveOne(w); err != nil {
		return err
	}
	m.info("%s is approved", w.name())
	return nil
}

func (v *approveCommand) approveOne(w *pendingApproval) error {
	if w.program != nil {
		return v.approve(w.upstream, *w.program, "by the user")
	}
	if err := v.approvals.ApproveTool(w.upstream, w.tool); err != nil {
		return err
	}
	v.recordDecision(host.Decision{
		Time: time.Now(), Upstream: w.upstream.Key, Action: host.ActionApprove, Name: w.tool.Tool, Outcome: host.OutcomeDone, Reason: "by the user",
	})
	return nil
}
