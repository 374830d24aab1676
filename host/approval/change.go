package approval

import (
	"fmt"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
)

// changes says in words how a server differs from the approved one.
func changes(before, after *Subject) []string {
	d := new(differences)
	switch {
	case (before.Program == nil) != (after.Program == nil):
		d.add("it was %s, and is %s", before.kind(), after.kind())
	case after.Program != nil:
		d.programs(before.Program, after.Program)
	default:
		d.remotes(before.Remote, after.Remote)
	}
	d.text("project", before.Project, after.Project)
	if after.Project != "" {
		d.roots(before.Roots, after.Roots)
	}
	if len(d.all) == 0 {
		d.add("what no digest covers was described in another way")
	}
	return d.all
}

type differences struct{ all []string }

func (d *differences) add(format string, args ...any) {
	d.all = append(d.all, host.EscapeUnprintable(fmt.Sprintf(format, args...)))
}

func (d *differences) text(what, before, after string) {
	switch {
	case before == after:
	case before == "":
		d.add("the %s is %s", what, after)
	case after == "":
		d.add("the %s is no longer %s", what, before)
	default:
		d.add("the %s is %s, was %s", what, after, before)
	}
}

func (d *differences) programs(before, after *Program) {
	d.text("command", before.Command, after.Command)
	d.arguments(before.Args, after.Args)
	d.text("working directory", before.Dir, after.Dir)
	d.text("directory behind the working directory", before.DirTarget, after.DirTarget)
	d.files(before.Files, after.Files)
	d.text("environment file", before.EnvFile, after.EnvFile)
	d.variables("variable", before.Variables, after.Variables)
	d.lists("not covered", before.NotCovered, after.NotCovered)
	d.lists("unusual", before.Concerns, after.Concerns)
}

func (d *differences) arguments(before, after []string) {
	if len(before) != len(after) {
		d.add("the arguments are %s, were %s", quotedWords(after), quotedWords(before))
		return
	}
	for i := range after {
		if before[i] != after[i] {
			d.add("argument %d is %s, was %s", i+1, host.ShellQuote(after[i]), host.ShellQuote(before[i]))
		}
	}
}

func (d *differences) files(before, after []commandfiles.File) {
	for _, f := range after {
		i := slices.IndexFunc(before, func(b commandfiles.File) bool { return b.Path == f.Path })
		if i < 0 {
			d.add("the %s %s runs, which did not", f.Role, f.Path)
			continue
		}
		b := before[i]
		d.text("target of the symbolic link "+f.Path, b.Target, f.Target)
		switch {
		case b.SHA256 == f.SHA256:
		case b.SHA256 == "":
			d.add("changes of the %s %s need approval from now on", f.Role, f.Path)
		case f.SHA256 == "":
			d.add("changes of the %s %s would need no approval", f.Role, f.Path)
		case f.Role == commandfiles.RoleScript, f.Role == commandfiles.RoleText:
			d.add("the content of the %s %s has changed", f.Role, f.Path)
		default:
			d.add("the %s %s was replaced", f.Role, f.Path)
		}
		if b.Role != f.Role {
			d.add("%s runs as the %s, was the %s", f.Path, f.Role, b.Role)
		}
	}
	for _, b := range before {
		if !slices.ContainsFunc(after, func(f commandfiles.File) bool { return f.Path == b.Path }) {
			d.add("the %s %s no longer runs", b.Role, b.Path)
		}
	}
}

// variables compares variables or headers, of which no value is shown.
func (d *differences) variables(what string, before, after []Variable) {
	for _, v := range after {
		i := slices.IndexFunc(before, func(b Variable) bool { return b.Name == v.Name })
		switch {
		case i < 0:
			d.add("the %s %s is set, was not", what, v.Name)
		case before[i].From != v.From || !slices.Equal(before[i].References, v.References):
			d.add("the %s %s is from %s, was from %s", what, v.Name, v.source(), before[i].source())
		case before[i].Digest != v.Digest:
			d.add("the %s %s has another value", what, v.Name)
		}
	}
	for _, b := range before {
		if !slices.ContainsFunc(after, func(v Variable) bool { return v.Name == b.Name }) {
			d.add("the %s %s is no longer set", what, b.Name)
		}
	}
}

func (d *differences) lists(what string, before, after []string) {
	for _, text := range after {
		if !slices.Contains(before, text) {
			d.add("%s, in addition: %s", what, text)
		}
	}
	for _, text := range before {
		if !slices.Contains(after, text) {
			d.add("%s, no longer: %s", what, text)
		}
	}
}

// roots compares roots by their paths.
func (d *differences) roots(before, after []Root) {
	paths := func(roots []Root) (all []string) {
		for _, r := range roots {
			all = append(all, r.Path)
		}
		return all
	}
	d.lists("roots", paths(before), paths(after))
	for _, r := range after {
		if i := slices.IndexFunc(before, func(b Root) bool { return b.Path == r.Path }); i >= 0 {
			d.text("directory behind the root "+r.Path, before[i].Target, r.Target)
		}
	}
}

func (d *differences) remotes(before, after *Remote) {
	d.text("URL", before.URL, after.URL)
	d.text("transport", before.Transport, after.Transport)
	d.variables("header", before.Headers, after.Headers)
	d.variables("sign-in text", before.SignIn, after.SignIn)
	d.lists("sent", before.Sends, after.Sends)
	d.lists("unusual", before.Concerns, after.Concerns)
}
