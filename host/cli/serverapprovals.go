package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
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
		asked := pendingOf(all)
		h.main.showPending(asked)
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
				h.questions.approvals.setAnswered(pendingOf(all[i:i+1]), host.OutcomeRefused)
			}
			return nil
		}
	}
	for i := range all {
		asked := pendingOf(all[i : i+1])
		h.main.showPending(asked)
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
func (h *hostProcess) askUnlessEnded(ctx context.Context, all []pendingApproval, q terminal.YesNo) (answer string, ended bool, err error) {
	answer, err = h.askForApproval(ctx, all, q)
	switch {
	case errors.Is(err, io.EOF), ctx.Err() != nil:
		return terminal.No, true, nil
	case exitCode(err) == exitConsent:
		h.main.Message("not approved: %s: %s", strings.Join(approvedNames(all), ", "), terminal.Clean(err.Error()))
		return terminal.No, false, nil
	}
	return answer, false, err
}

// startQuestion asks whether a server may be started or connected to.
func startQuestion(q *approval.Question) string {
	switch {
	case len(q.Pending) > 1:
		return "They can do whatever you can do. Start them now and in future?"
	case q.Pending[0].Subject.Remote != nil:
		return "Connect to it now and in future?"
	}
	return "It can do whatever you can do. Start it now and in future?"
}

func countServers(all []approval.Question) (n int) {
	for _, q := range all {
		n += len(q.Pending)
	}
	return n
}

// pendingOf returns the servers of questions.
func pendingOf(all []approval.Question) (pending []pendingApproval) {
	for i := range all {
		for j := range all[i].Pending {
			p := &all[i].Pending[j]
			pending = append(pending, pendingApproval{upstream: p.Upstream, server: p, question: &all[i]})
		}
	}
	return pending
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

// showServerQuestion prints what the user is asked to approve: all of it, or what fits on a
// screen with others.
func (m *Main) showServerQuestion(q *approval.Question, whole bool) {
	if len(q.Pending) == 1 {
		m.showServer(&q.Pending[0], whole)
		return
	}
	m.Message("")
	m.PrintWrapped("The servers %s have not changed, but programs that they use were replaced:", namesOf(q))
	m.Message("")
	for _, f := range q.Replaced {
		m.showFile(f, whole)
	}
	var changes []string
	for _, p := range q.Pending {
		for _, change := range p.Changes {
			if !slices.Contains(changes, change) {
				changes = append(changes, change)
				m.PrintWrapped("  changed    %s", change)
			}
		}
	}
}

// namesOf lists the servers of a question.
func namesOf(q *approval.Question) string {
	var names []string
	for _, p := range q.Pending {
		names = append(names, fmt.Sprintf("%q", p.Subject.Name))
	}
	return strings.Join(names, ", ")
}

// showServer prints what an approval of a server covers.
func (m *Main) showServer(p *approval.Pending, whole bool) {
	kind := "a program"
	if p.Subject.Remote != nil {
		kind = "a remote server"
	}
	state := "is not approved yet"
	if len(p.Changes) > 0 {
		state = "has changed since you approved it"
	}
	m.Message("\nThe server %q is %s that %s:\n", p.Subject.Name, kind, state)
	m.PrintWrapped("  %s", p.Subject.CommandLine())
	m.Message("")
	for _, risk := range p.Subject.Risks() {
		m.PrintWrapped("  WARNING    %s", risk)
	}
	if p.Subject.Project != "" {
		m.PrintWrapped("  named by   %s, a file of a project", p.Subject.File)
	}
	if p.Subject.Program != nil {
		m.showProgram(p.Subject.Program, whole)
		m.warnOfArguments(p.Upstream)
		for _, name := range p.Proxies {
			before := ""
			if p.Before != nil && slices.Contains(p.Before.Proxies, name) {
				before = "; it was passed until the server has changed"
			}
			m.PrintWrapped("  withheld   %s, the URL of a proxy with a user or password%s", name, before)
		}
	} else {
		m.showRemote(p.Subject.Remote)
	}
	m.PrintWrapped("  roots      %s", cmp.Or(strings.Join(rootsAsked(p), ", "), "none"))
	m.PrintWrapped("  tools      %s", describeTools(p.Tools))
	for _, change := range p.Changes {
		m.PrintWrapped("  changed    %s", change)
	}
	switch {
	case !whole:
	case p.Subject.Remote != nil:
		m.Message("\nUntil you say yes nothing is sent to it. A yes sends it what is listed here, and the arguments of calls.")
	default:
		m.Message("\nUntil you say yes nothing of it runs. A yes lets it run with what is listed here, and get the arguments of calls.")
	}
}

// maxShownTools limits the tools that a question about a server names, and maxShownName their names, in bytes.
const (
	maxShownTools = 10
	maxShownName  = 64
)

// describeTools says what a server may do, in its own words. Its names are quoted, so that none reads as a sentence of
// the question.
func describeTools(t *approval.Tools) string {
	switch {
	case t == nil:
		return "not known before its first start"
	case t.Count == 0:
		return "none"
	case len(t.Others) == 0:
		return fmt.Sprintf("%d, all of them read-only, as it says itself", t.Count)
	}
	var names []string
	for _, name := range t.Others[:min(len(t.Others), maxShownTools)] {
		names = append(names, host.ShellQuote(host.CutText(name, maxShownName)))
	}
	shown := strings.Join(names, ", ")
	if more := len(t.Others) - maxShownTools; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%d; not read-only, as it says itself: %s", t.Count, shown)
}

func (m *Main) showProgram(p *approval.Program, whole bool) {
	m.PrintWrapped("  directory  %s", linked(p.Dir, p.DirTarget))
	for _, f := range p.Files {
		m.showFile(f, whole)
	}
	for _, file := range p.Data {
		m.PrintWrapped("  data       %s, whose content is not covered", file)
	}
	if p.EnvFile != "" {
		m.PrintWrapped("  variables  of %s", p.EnvFile)
	}
	for _, v := range p.Variables {
		m.PrintWrapped("  with       %s", describeVariable(&v))
	}
	m.Message("  inherits   what each program gets, such as PATH, HOME, HTTP_PROXY and the language")
	for _, what := range p.NotCovered {
		m.PrintWrapped("  uncovered  %s", what)
	}
	for _, concern := range p.Concerns {
		m.PrintWrapped("  WARNING    %s", concern)
	}
}

// showFile prints a file that runs.
func (m *Main) showFile(f commandfiles.File, whole bool) {
	m.PrintWrapped("  %-10s %s", f.Role, linked(f.Path, f.Target))
	switch {
	case f.SHA256 == "":
		m.Message("             of which changes need no approval, because of \"dev\"")
	case whole:
		m.Message("             SHA-256 %s", f.SHA256)
	}
}

// linked names a path and what it leads to.
func linked(path, target string) string {
	if target == "" {
		return path
	}
	return path + ", which is " + target
}

// describeVariable names a variable or header and where its value is from. A value is
// shown if it decides which code runs.
func describeVariable(v *approval.Variable) string {
	switch {
	case v.Value != "":
		return v.Name + "=" + v.Value + ", which can change what code runs"
	case v.From != "":
		return v.Name + ", from " + v.From
	}
	return v.Name
}

func (m *Main) showRemote(r *approval.Remote) {
	m.Message("  reached    %s", r.Transport)
	for _, v := range r.Headers {
		m.PrintWrapped("  header     %s", describeVariable(&v))
	}
	for _, v := range r.SignIn {
		m.PrintWrapped("  sign-in    %s", describeVariable(&v))
	}
	for _, sent := range r.Sends {
		m.PrintWrapped("  sends      %s", sent)
	}
	if len(r.Sends) == 0 {
		m.Message("  sends      no variable, input or file of this machine")
	}
	for _, concern := range r.Concerns {
		m.PrintWrapped("  WARNING    %s", concern)
	}
}

// rootsAsked says which directories a server gets as roots once it is approved, with where they lead to.
func rootsAsked(p *approval.Pending) (all []string) {
	if p.Upstream.Questions().Roots {
		all = append(all, ofClient)
	}
	for _, root := range p.Subject.Roots {
		all = append(all, root.String())
	}
	return all
}
