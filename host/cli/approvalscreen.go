package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/terminal"
)

// maxDetailed is the largest number of questions of which a screen has all details.
const maxDetailed = 3

// showPending prints what the user is asked to approve: all of it for one question, less for
// several, and a few lines for each of many, so that they are on one screen.
func (m *Main) showPending(all []pendingApproval) {
	questions := questionsOf(all)
	named := ""
	for i, w := range questions {
		file := fileOf(&w)
		if len(questions) > maxDetailed && (i == 0 || file != named) {
			m.Message("")
			m.PrintWrapped("Waiting for approval%s:", file)
			m.Message("")
			named = file
		}
		switch {
		case len(questions) > maxDetailed && w.server != nil:
			m.showServersBriefly(w.question)
		case len(questions) > maxDetailed:
			m.showDefinitionsBriefly(waitingChange{w.upstream, w.change})
		case w.server != nil:
			m.showServerQuestion(w.question, len(questions) == 1)
		default:
			m.showDefinitions(waitingChange{w.upstream, w.change})
		}
	}
}

// showPendingTexts prints all details of what the user is asked to approve.
func (m *Main) showPendingTexts(all []pendingApproval) {
	for _, w := range questionsOf(all) {
		if w.server != nil {
			m.showServerQuestion(w.question, true)
			continue
		}
		m.Message("")
		m.PrintWrapped("The server %q%s: %s", w.upstream.Key, versionsOf(w.change), countKinds(w.change))
		m.showTexts(waitingChange{w.upstream, w.change})
	}
}

// questionsOf returns the first of each question: servers that have changed in the same way are
// one question.
func questionsOf(all []pendingApproval) (questions []pendingApproval) {
	for i, w := range all {
		if w.question == nil || i == 0 || all[i-1].question != w.question {
			questions = append(questions, w)
		}
	}
	return questions
}

// showsTexts is the option that shows all details of what waits.
var showsTexts = terminal.Option{Letter: "s", Does: "shows the texts"}

// passesProxies is the letter of the option that approves programs and passes the proxies to them that
// have a user or password.
const passesProxies = "p"

// proxyOptions returns the option passesProxies, which names the variables, if there are any.
func proxyOptions(all []pendingApproval) []terminal.Option {
	var names []string
	for _, w := range all {
		if w.server != nil {
			names = append(names, w.server.Proxies...)
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return nil
	}
	has := "has"
	if len(names) > 1 {
		has = "have"
	}
	return []terminal.Option{{Letter: passesProxies, Does: fmt.Sprintf("yes, and passes %s, which %s a user or password", strings.Join(names, ", "), has)}}
}

// passProxies notes that the answer is that of passesProxies.
func passProxies(all []pendingApproval) {
	for _, w := range all {
		if w.server != nil {
			w.server.PassProxies = true
		}
	}
}

// approveQuestion asks whether to approve.
func approveQuestion(all []pendingApproval) string {
	switch names := approvedNames(all); {
	case len(names) > 1:
		return fmt.Sprintf("Approve all %d?", len(names))
	case all[0].server == nil:
		return "Approve what " + names[0] + " lists?"
	default:
		return "Approve " + names[0] + "?"
	}
}

// fileOf names the file that names a server.
func fileOf(w *pendingApproval) string {
	switch origin := w.upstream.Origin; {
	case origin.File == "":
		return ""
	case origin.Project != "":
		return ", named by " + origin.File + ", a file of a project"
	default:
		return ", named by " + origin.File
	}
}

// showServersBriefly prints the servers of a question, each with its command line and with what
// is most important about it.
func (m *Main) showServersBriefly(q *approval.Question) {
	if len(q.Pending) > 1 {
		m.showServerQuestion(q, false)
		return
	}
	p := &q.Pending[0]
	state := "new"
	if len(p.Changes) > 0 {
		state = "changed"
	}
	where := ""
	if p.Subject.Program != nil && p.Subject.Program.Dir != filepath.Dir(p.Subject.File) {
		where = "  in " + p.Subject.Program.Dir
	}
	m.PrintWrapped("  %s  %s  %s%s", p.Subject.Name, state, p.Subject.CommandLine(), where)
	for _, risk := range p.Subject.Risks() {
		m.PrintWrapped("      WARNING  %s", risk)
	}
	for _, change := range p.Changes {
		m.PrintWrapped("      changed  %s", change)
	}
	for _, root := range p.Subject.Roots {
		m.PrintWrapped("      root     %s", root.String())
	}
	if p.Subject.Program != nil {
		for _, v := range p.Subject.Program.Variables {
			if v.Value != "" {
				m.PrintWrapped("      with     %s", describeVariable(&v))
			}
		}
		return
	}
	for _, sent := range p.Subject.Remote.Sends {
		m.PrintWrapped("      sends    %s", sent)
	}
	for _, concern := range p.Subject.Remote.Concerns {
		m.PrintWrapped("      WARNING  %s", concern)
	}
}
