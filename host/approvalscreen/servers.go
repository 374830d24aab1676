package approvalscreen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// showServerQuestion prints what the user is asked to approve: all of it, or what fits on a
// screen with others.
func (s screen) showServerQuestion(q *approval.Question, whole bool) {
	if len(q.Pending) == 1 {
		s.showServer(&q.Pending[0], whole)
		return
	}
	s.Message("")
	s.PrintWrapped("The servers %s have not changed, but programs that they use were replaced:", namesOf(q))
	s.Message("")
	for _, f := range q.Replaced {
		s.showFile(f, whole)
	}
	var changes []string
	for _, p := range q.Pending {
		for _, change := range p.Changes {
			if !slices.Contains(changes, change) {
				changes = append(changes, change)
				s.PrintWrapped("  changed    %s", change)
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
func (s screen) showServer(p *approval.Pending, whole bool) {
	kind := "a program"
	if p.Subject.Remote != nil {
		kind = "a remote server"
	}
	state := "is not approved yet"
	if len(p.Changes) > 0 {
		state = "has changed since you approved it"
	}
	s.Message("\nThe server %q is %s that %s:\n", p.Subject.Name, kind, state)
	s.PrintWrapped("  %s", p.Subject.CommandLine())
	s.Message("")
	for _, risk := range p.Subject.Risks() {
		s.PrintWrapped("  WARNING    %s", risk)
	}
	if p.Subject.Project != "" {
		s.PrintWrapped("  named by   %s, a file of a project", p.Subject.File)
	}
	if p.Subject.Program != nil {
		s.showProgram(p.Subject.Program, whole)
		s.warnOfArguments(p.Upstream)
		for _, name := range p.Proxies {
			before := ""
			if p.Before != nil && slices.Contains(p.Before.Proxies, name) {
				before = "; it was passed until the server has changed"
			}
			s.PrintWrapped("  withheld   %s, the URL of a proxy with a user or password%s", name, before)
		}
	} else {
		s.showRemote(p.Subject.Remote)
	}
	s.PrintWrapped("  roots      %s", cmp.Or(strings.Join(rootsAsked(p), ", "), "none"))
	s.PrintWrapped("  tools      %s", describeTools(p.Tools))
	for _, change := range p.Changes {
		s.PrintWrapped("  changed    %s", change)
	}
	switch {
	case !whole:
	case p.Subject.Remote != nil:
		s.Message("\nUntil you say yes nothing is sent to it. A yes sends it what is listed here, and the arguments of calls.")
	default:
		s.Message("\nUntil you say yes nothing of it runs. A yes lets it run with what is listed here, and get the arguments of calls.")
	}
}

// warnOfArguments says which arguments of a program look like secrets: all users of the machine
// can see the command lines of its processes.
func (s screen) warnOfArguments(u *host.Upstream) {
	t, ok := u.Target.(*mcpclient.CommandTarget)
	if !ok {
		return
	}
	if flags, _ := host.SecretArguments(t.Args); len(flags) > 0 {
		s.PrintWrapped("  visible    the value of %s, to every user of this machine (ps); \"env\" is the place for secrets", strings.Join(flags, ", "))
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

func (s screen) showProgram(p *approval.Program, whole bool) {
	s.PrintWrapped("  directory  %s", linked(p.Dir, p.DirTarget))
	for _, f := range p.Files {
		s.showFile(f, whole)
	}
	for _, file := range p.Data {
		s.PrintWrapped("  data       %s, whose content is not covered", file)
	}
	if p.EnvFile != "" {
		s.PrintWrapped("  variables  of %s", p.EnvFile)
	}
	for _, v := range p.Variables {
		s.PrintWrapped("  with       %s", describeVariable(&v))
	}
	s.Message("  inherits   what each program gets, such as PATH, HOME, HTTP_PROXY and the language")
	for _, what := range p.NotCovered {
		s.PrintWrapped("  uncovered  %s", what)
	}
	for _, concern := range p.Concerns {
		s.PrintWrapped("  WARNING    %s", concern)
	}
}

// showFile prints a file that runs.
func (s screen) showFile(f commandfiles.File, whole bool) {
	s.PrintWrapped("  %-10s %s", f.Role, linked(f.Path, f.Target))
	switch {
	case f.SHA256 == "":
		s.Message("             of which changes need no approval, because of \"dev\"")
	case whole:
		s.Message("             SHA-256 %s", f.SHA256)
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

func (s screen) showRemote(r *approval.Remote) {
	s.Message("  reached    %s", r.Transport)
	for _, v := range r.Headers {
		s.PrintWrapped("  header     %s", describeVariable(&v))
	}
	for _, v := range r.SignIn {
		s.PrintWrapped("  sign-in    %s", describeVariable(&v))
	}
	for _, sent := range r.Sends {
		s.PrintWrapped("  sends      %s", sent)
	}
	if len(r.Sends) == 0 {
		s.Message("  sends      no variable, input or file of this machine")
	}
	for _, concern := range r.Concerns {
		s.PrintWrapped("  WARNING    %s", concern)
	}
}

// RootsOfClient is how screens and tables name the roots that a server gets of its client.
const RootsOfClient = "those of its client"

// rootsAsked says which directories a server gets as roots once it is approved, with where they lead to.
func rootsAsked(p *approval.Pending) (all []string) {
	if p.Upstream.Questions().Roots {
		all = append(all, RootsOfClient)
	}
	for _, root := range p.Subject.Roots {
		all = append(all, root.String())
	}
	return all
}
