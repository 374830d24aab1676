package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/approvalscreen"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

// newApprovals returns the approvals of the user. onCarryOver may be nil.
func (m *Main) newApprovals(s mcp.Store, onCarryOver func(*host.Upstream, []string)) (*approval.Store, error) {
	key, err := m.storage().ApprovalKey()
	if err != nil {
		return nil, err
	}
	definitions := definition.New(s, nil)
	return approval.New(s, approval.Options{Key: key, OnCarryOver: onCarryOver, Tools: func(ctx context.Context, u *host.Upstream) *approval.Tools {
		claims, err := definitions.ToolClaims(ctx, u)
		if err != nil || claims == nil {
			return nil
		}
		return &approval.Tools{Count: claims.Count, Others: claims.Others}
	}}), nil
}

// recordCarryOver records that an approval covers files that the administrator has
// replaced.
func (h *hostProcess) recordCarryOver(u *host.Upstream, changes []string) {
	if err := h.recordDecision(host.Decision{
		Time: time.Now(), Upstream: u.Key, Action: host.ActionCarryOver, Outcome: host.OutcomeDone, Reason: strings.Join(changes, "; "),
	}); err != nil {
		h.main.Message("audit log: %v", err)
	}
}

// serverQuestions returns what the servers need approval for.
func (h *hostProcess) serverQuestions(ctx context.Context) ([]approval.Question, error) {
	return h.approvals.Questions(ctx, h.servers.Servers())
}

// approveServer records and stores an approval. One that cannot be recorded is not stored.
func (h *hostProcess) approveServer(ctx context.Context, p *approval.Pending, by string) error {
	name := ""
	if p.Subject.Program != nil {
		name = p.Subject.Program.Files[0].Path
	}
	if err := h.recordDecision(host.Decision{
		Time: time.Now(), Upstream: p.Subject.Name, Action: host.ActionApprove, Name: name, Outcome: host.OutcomeDone, Reason: by,
	}); err != nil {
		return err
	}
	return h.approvals.Approve(ctx, p, by)
}

// askForServers shows the servers that are not approved as they are now, and asks whether
// they may be started: once for all that have changed in the same way. Several questions
// are one screen, and can be answered together. Without a terminal it asks nothing, and
// such servers are not started.
func (h *hostProcess) askForServers(ctx context.Context) error {
	defer h.askForInputs(ctx)
	if h.approvals == nil || h.yes || !h.main.Interactive {
		return nil
	}
	all, err := h.serverQuestions(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	if len(all) > 1 {
		asked := approvalscreen.ItemsOf(all)
		approvalscreen.Show(&h.main.IO, asked)
		answer, ended, err := h.askUnlessEnded(ctx, asked, terminal.YesNo{
			Text: fmt.Sprintf("Start these %d servers now and in future?", countServers(all)), Options: []terminal.Option{{Letter: "s", Does: "asks for each"}},
		})
		switch {
		case ended, err != nil:
			return err
		case answer == terminal.Yes:
			return h.approvePending(ctx, asked, "by the user")
		case answer == terminal.No:
			for i := range all {
				h.questions.approvals.setAnswered(approvalscreen.ItemsOf(all[i:i+1]), host.OutcomeRefused)
			}
			return nil
		}
	}
	for i := range all {
		asked := approvalscreen.ItemsOf(all[i : i+1])
		approvalscreen.Show(&h.main.IO, asked)
		answer, ended, err := h.askUnlessEnded(ctx, asked, terminal.YesNo{Text: startQuestion(&all[i])})
		switch {
		case ended, err != nil:
			return err
		case answer != terminal.Yes:
			h.questions.approvals.setAnswered(asked, host.OutcomeRefused)
			continue
		}
		if err := h.approvePending(ctx, asked, "by the user"); err != nil {
			return err
		}
	}
	return nil
}

// askUnlessEnded is askForApproval for questions that may stay without an answer: it is no error
// that the input or ctx has ended, or that the answer cannot be given here.
func (h *hostProcess) askUnlessEnded(ctx context.Context, all []approvalscreen.Item, q terminal.YesNo) (answer string, ended bool, err error) {
	answer, err = h.askForApproval(ctx, all, q)
	switch {
	case errors.Is(err, io.EOF), ctx.Err() != nil:
		return terminal.No, true, nil
	case exitCode(err) == exitConsent:
		h.main.Message("not approved: %s: %s", strings.Join(approvalscreen.Names(all), ", "), terminal.Clean(err.Error()))
		return terminal.No, false, nil
	}
	return answer, false, err
}

func countServers(all []approval.Question) (n int) {
	for _, q := range all {
		n += len(q.Pending)
	}
	return n
}

// askForInputs asks for the inputs of the servers that are approved. For other servers it asks
// nothing, because the user has not approved where the inputs are sent.
func (h *hostProcess) askForInputs(ctx context.Context) {
	servers := h.servers.Servers()
	for i := range servers {
		if h.approvals == nil || h.main.inputFunc() == nil {
			break
		}
		_, _ = h.servers.Admit(ctx, &servers[i]) // the start reports the error
	}
	h.main.answering.Lock()
	defer h.main.answering.Unlock()
	h.main.inputsAsked = true
}
