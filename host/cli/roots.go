package cli

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approvalscreen"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/terminal"
)

var rootsEntry = commandInfo{
	name: "roots", operands: "[SERVER] | add SERVER DIR... | remove SERVER DIR...", does: "list or change the directories that servers get as roots",
	about: `A server at a URL gets these directories alone, and a program those of its client
as well. Running hosts notify the server. In the file of a project a change needs
your approval. "add" and "remove" change the file; a relative DIR starts here.`,
	example: "roots add files ~/src",
	make:    func() command { return new(rootsCommand) },
}

type rootsCommand struct {
	output
	path string
}

func (v *rootsCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	declareConfig(f, &v.path)
}

// rootsActions change roots.
var rootsActions = []string{"add", "remove"}

func (v *rootsCommand) run(_ context.Context, m *Main, operands []string) error {
	path, err := m.configPath(v.path)
	switch {
	case err != nil:
		return err
	case len(operands) > 0 && slices.Contains(rootsActions, operands[0]):
		if len(operands) < 3 {
			return usagef("want the name of a server, and directories")
		}
		return v.change(m, path, operands[0], operands[1], operands[2:])
	case len(operands) > 1:
		return usagef("found %q, want add or remove, or the name of one server%s", operands[0], didYouMean(operands[0], rootsActions))
	}
	return v.list(m, path, operands)
}

// serverRoots is the JSON form of the roots of a server.
type serverRoots struct {
	Name string `json:"name"`
	// Client says whether it gets the roots of its client.
	Client bool     `json:"client"`
	Roots  []string `json:"roots"`
}

func (v *rootsCommand) list(m *Main, path string, named []string) error {
	c, err := m.readConfig(path, false, placeholder)
	if err != nil {
		return err
	}
	all, names := []serverRoots{}, []string(nil)
	t := terminal.Table{Head: []string{"SERVER", "ROOT"}}
	for i := range c.Upstreams {
		u := &c.Upstreams[i]
		if names = append(names, u.Key); len(named) > 0 && named[0] != u.Key {
			continue
		}
		s := serverRoots{Name: u.Key, Client: u.Questions().Roots, Roots: append([]string{}, u.Settings.Roots...)}
		all = append(all, s)
		if s.Client {
			t.Rows = append(t.Rows, []string{s.Name, approvalscreen.RootsOfClient})
		}
		for _, root := range s.Roots {
			t.Rows = append(t.Rows, []string{s.Name, root})
		}
	}
	if len(named) > 0 && len(all) == 0 {
		return usagef("server %q: unknown%s; it is not in %s", named[0], didYouMean(named[0], names), path)
	}
	if v.json {
		return m.WriteDocument(terminal.Document{"servers": all})
	}
	if len(t.Rows) == 0 {
		m.Info("no roots")
	}
	return m.WriteTable(t)
}

func (v *rootsCommand) change(m *Main, path, action, server string, dirs []string) error {
	for i, dir := range dirs {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		if dirs[i] = absolute; action == "add" {
			if _, err := os.Stat(absolute); err != nil {
				m.Info("note: %v; it is left out until it is there", err)
			}
		}
	}
	add, remove := dirs, []string(nil)
	if action == "remove" {
		add, remove = nil, dirs
	}
	before, roots, err := m.changeRoots(path, server, add, remove, func(action host.Action, server, dir string) error {
		record, err := m.commandAudit()
		if err != nil {
			return err
		}
		return record(m.userDecision(action, server, dir, "with the command roots"))
	})
	if err != nil {
		return err
	}
	u := m.configuredUpstream(path, server)
	if v.json {
		s := serverRoots{Name: server, Client: u != nil && u.Questions().Roots, Roots: append([]string{}, roots...)}
		return m.WriteDocument(terminal.Document{"servers": []serverRoots{s}})
	}
	m.Info("roots of %s in %s: %d", server, path, len(roots))
	if u != nil && u.Origin.Project != "" && !slices.Equal(before, roots) {
		m.Info("the file is that of a project: %s", m.approveCommand(server, v.path))
	}
	return nil
}

// changeRoots adds directories to the roots of a server in a file, and removes others, all as absolute paths. It returns
// the roots before and after. Those that are added are recorded before, and none is added if one cannot be recorded; what is
// removed is removed in any case.
func (m *Main) changeRoots(path, server string, add, remove []string, record recordRootFunc) (before, after []string, err error) {
	if before, err = m.rootsIn(path, server); err != nil {
		return nil, nil, err
	}
	for _, dir := range remove {
		if !slices.Contains(before, dir) {
			return nil, nil, usagef("server %q: %s is none of its roots; %s roots %s lists them", server, dir, m.program(), host.ShellQuote(server))
		}
	}
	change, after, err := config.ChangeRoots(path, server, m.Getenv, add, remove)
	if err != nil {
		return nil, nil, unknownInFile(err)
	}
	if change.Empty() {
		return before, after, nil
	}
	for _, dir := range missingIn(before, after) {
		if err := record(host.ActionAddRoot, server, dir); err != nil {
			return nil, nil, err
		}
	}
	if _, err := change.Write(""); err != nil {
		return nil, nil, err
	}
	for _, dir := range missingIn(after, before) {
		m.reportUnrecorded(record(host.ActionRemoveRoot, server, dir))
	}
	return before, after, nil
}

// recordRootFunc records that the user adds a root to those of a server, or removes one.
type recordRootFunc func(action host.Action, server, dir string) error

// missingIn returns which of some directories others lack.
func missingIn(others, dirs []string) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return slices.Contains(others, dir) })
}

// rootsIn returns the roots of a server in a file, none if the file has no such server.
func (m *Main) rootsIn(path, server string) ([]string, error) {
	_, roots, err := config.ChangeRoots(path, server, m.Getenv, nil, nil)
	if err != nil {
		return nil, unknownInFile(err)
	}
	return roots, nil
}

// rootsOf says which directories a server gets as roots.
func rootsOf(u *host.Upstream) (all []string) {
	if u.Questions().Roots {
		all = append(all, approvalscreen.RootsOfClient)
	}
	return append(all, u.Settings.Roots...)
}
