// Package approvalscreen shows what the user is asked to approve, before the user says yes: what a server runs or gets,
// and what it lists. It asks nothing and decides nothing. Texts of servers and of files of others begin no line, so
// that they cannot pass for words of the host.
package approvalscreen

import (
	"path/filepath"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/terminal"
)

// Item is a server, or the definitions of a server, that waits for approval.
type Item struct {
	Upstream *host.Upstream
	Server   *approval.Pending  // nil for definitions
	Question *approval.Question // with the server and all others that have changed in the same way; nil for definitions
	Change   *definition.Change // nil for a server
}

// Name returns the name of the server in the configuration.
func (w *Item) Name() string { return w.Upstream.Key }

// ItemsOf returns an item for each server of some questions, in their order. The items refer to the questions.
func ItemsOf(questions []approval.Question) (items []Item) {
	for i := range questions {
		for j := range questions[i].Pending {
			p := &questions[i].Pending[j]
			items = append(items, Item{Upstream: p.Upstream, Server: p, Question: &questions[i]})
		}
	}
	return items
}

// Names returns the names of the servers that a yes to these items approves, each once: of all servers of a question,
// also if the items have one of them alone.
func Names(all []Item) (names []string) {
	for _, w := range all {
		group := []string{w.Name()}
		if w.Question != nil {
			group = nil
			for _, p := range w.Question.Pending {
				group = append(group, p.Subject.Name)
			}
		}
		for _, name := range group {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// OnePerQuestion returns the first item of each question: servers that have changed in the same way are
// one question. The items of a question are next to each other, as ItemsOf has them.
func OnePerQuestion(all []Item) (questions []Item) {
	for i, w := range all {
		if w.Question == nil || i == 0 || all[i-1].Question != w.Question {
			questions = append(questions, w)
		}
	}
	return questions
}

// screen prints what is approved.
type screen struct{ *terminal.IO }

// maxDetailed is the largest number of questions of which a screen has all details.
const maxDetailed = 3

// Show prints to the messages of t what the user is asked to approve: all of it for one question, less for
// several, and a few lines for each of many, so that they are on one screen.
func Show(t *terminal.IO, all []Item) {
	s := screen{t}
	questions := OnePerQuestion(all)
	named := ""
	for i, w := range questions {
		file := fileOf(&w)
		if len(questions) > maxDetailed && (i == 0 || file != named) {
			s.Message("")
			s.PrintWrapped("Waiting for approval%s:", file)
			s.Message("")
			named = file
		}
		switch {
		case len(questions) > maxDetailed && w.Server != nil:
			s.showServersBriefly(w.Question)
		case len(questions) > maxDetailed:
			s.showDefinitionsBriefly(&w)
		case w.Server != nil:
			s.showServerQuestion(w.Question, len(questions) == 1)
		default:
			s.showDefinitions(&w)
		}
	}
}

// ShowTexts prints to the messages of t all details of what the user is asked to approve.
func ShowTexts(t *terminal.IO, all []Item) {
	s := screen{t}
	for _, w := range OnePerQuestion(all) {
		if w.Server != nil {
			s.showServerQuestion(w.Question, true)
			continue
		}
		s.Message("")
		s.PrintWrapped("The server %q%s: %s", w.Upstream.Key, versionsOf(w.Change), countKinds(w.Change))
		s.showTexts(&w)
	}
}

// fileOf names the file that names a server.
func fileOf(w *Item) string {
	switch origin := w.Upstream.Origin; {
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
func (s screen) showServersBriefly(q *approval.Question) {
	if len(q.Pending) > 1 {
		s.showServerQuestion(q, false)
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
	s.PrintWrapped("  %s  %s  %s%s", p.Subject.Name, state, p.Subject.CommandLine(), where)
	for _, risk := range p.Subject.Risks() {
		s.PrintWrapped("      WARNING  %s", risk)
	}
	for _, change := range p.Changes {
		s.PrintWrapped("      changed  %s", change)
	}
	for _, root := range p.Subject.Roots {
		s.PrintWrapped("      root     %s", root.String())
	}
	if p.Subject.Program != nil {
		for _, v := range p.Subject.Program.Variables {
			if v.Value != "" {
				s.PrintWrapped("      with     %s", describeVariable(&v))
			}
		}
		return
	}
	for _, sent := range p.Subject.Remote.Sends {
		s.PrintWrapped("      sends    %s", sent)
	}
	for _, concern := range p.Subject.Remote.Concerns {
		s.PrintWrapped("      WARNING  %s", concern)
	}
}
