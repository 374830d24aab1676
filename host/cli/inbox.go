package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/terminal"
)

var inboxEntry = commandInfo{
	name: "inbox", operands: "[ID]", does: "list the questions that wait for you, or show one",
	about: `Questions are about calls of tools that need your consent, and what servers ask
in calls whose client cannot show it; "fondaco answer" answers them. Servers that
wait for an approval are listed too; "fondaco approve" shows and approves them.
So are servers of running hosts that wait for a sign-in, with the command.`,
	example: "inbox",
	make:    func() command { return new(inboxCommand) },
}

type inboxCommand struct{ output }

func (v *inboxCommand) run(ctx context.Context, m *Main, operands []string) error {
	q, err := m.openQuestions(nil)
	if err != nil {
		return err
	}
	switch len(operands) {
	case 0:
		return v.list(ctx, m, q)
	case 1:
		return v.one(ctx, m, q, operands[0])
	}
	return usagef("found %d numbers, want one or none", len(operands))
}

func (v *inboxCommand) list(ctx context.Context, m *Main, q *userQuestions) error {
	open, err := q.calls.Queue.List(ctx)
	if err != nil {
		return err
	}
	approvals, err := m.waitingApprovals(ctx)
	if err != nil {
		m.Message("what waits for approval is not known: %s", terminal.Clean(err.Error()))
	}
	signIns, failed := m.waitingSignIns(ctx)
	if failed != nil {
		m.Message("which servers wait for a sign-in is not known: %s", terminal.Clean(failed.Error()))
	}
	if v.json {
		return m.WriteDocument(terminal.Document{
			"questions": append([]consent.Question{}, open...), "approvals": append([]string{}, approvals...), "signIns": append([]waitingSignIn{}, signIns...),
		})
	}
	if len(open)+len(approvals)+len(signIns) == 0 && err == nil && failed == nil {
		m.Info("no question waits")
	}
	t := terminal.Table{Head: []string{"ID", "QUESTION", "CLIENT", "WAITS UNTIL"}}
	for _, one := range open {
		t.Rows = append(t.Rows, []string{one.ID, one.Text, one.Client, one.Expires.Local().Format(time.TimeOnly)})
	}
	for _, name := range approvals {
		t.Rows = append(t.Rows, []string{"-", "Approve " + name + "? " + m.program() + " approve " + host.ShellQuote(name) + " shows it", "", ""})
	}
	for _, one := range signIns {
		t.Rows = append(t.Rows, []string{"-", one.ask(), "", ""})
	}
	return m.WriteTable(t)
}

// waitingApprovals returns the names of what waits for an approval in the configuration of the
// running host, or the user's own, each once.
func (m *Main) waitingApprovals(ctx context.Context) ([]string, error) {
	h := &hostProcess{config: m.configOfRunningHost(ctx)}
	if h.findConfig(m); h.path == "" {
		return nil, nil
	}
	if err := h.openForApproval(m); err != nil {
		return nil, err
	}
	all, err := h.pending(ctx)
	var names []string
	for _, w := range all {
		if !slices.Contains(names, w.Name()) {
			names = append(names, w.Name())
		}
	}
	return names, err
}

// one shows one question with all details.
func (v *inboxCommand) one(ctx context.Context, m *Main, q *userQuestions, id string) error {
	one, err := q.calls.Queue.Get(ctx, id)
	if err != nil {
		return questionError(err)
	}
	if v.json {
		return m.WriteDocument(terminal.Document{"question": one})
	}
	for _, line := range append(m.WrapLine(terminal.CleanLine(one.ID+" "+one.Text)), m.detailLines(&one)...) {
		if err := m.WriteLine("%s", line); err != nil {
			return err
		}
	}
	return nil
}

// questionError returns the error about a question that does not wait as a usage error.
func questionError(err error) error {
	if errors.Is(err, consent.ErrUnknown) || errors.Is(err, consent.ErrAnswered) {
		return usagef("%w", err)
	}
	return err
}
