//go:build unix

package commandfiles_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/approval/commandfiles"
)

// machine is a directory with programs and projects.
type machine struct {
	t          *testing.T
	root       string
	checkLocal func(path, project string) error
	remembered map[*commandfiles.Command]*commandfiles.Found
	undo       []func() // what takes the changes of a subtest back
	isShared   bool     // by subtests
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, root: root, remembered: make(map[*commandfiles.Command]*commandfiles.Found)}
	m.checkLocal = func(string, string) error { return nil }
	for _, name := range []string{"env", "node", "python3", "sh", "npx", "uvx", "npm", "go", "docker", "deno"} {
		m.write("usr/bin/"+name, "\x7fELF "+name)
	}
	return m
}

// in returns the machine for a subtest, which runs alone on it. What the subtest writes is taken
// back at its end: to make a file costs more than to find what a command runs.
func (m *machine) in(t *testing.T) *machine {
	inner := *m
	inner.t, inner.isShared, inner.undo = t, true, nil
	t.Cleanup(func() {
		for _, undo := range slices.Backward(inner.undo) {
			undo()
		}
	})
	return &inner
}

// keep remembers what is at a path before a subtest changes it.
func (m *machine) keep(path string) {
	if !m.isShared {
		return
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		created := path
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			if _, err := os.Lstat(dir); err == nil {
				break
			}
			created = dir
		}
		m.undo = append(m.undo, func() { m.must(os.RemoveAll(created)) })
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		m.must(err)
		m.undo = append(m.undo, func() {
			m.must(os.WriteFile(path, content, info.Mode()))
			m.must(os.Chmod(path, info.Mode()))
		})
	default:
		target, err := os.Readlink(path)
		m.must(err)
		m.undo = append(m.undo, func() {
			m.must(os.Remove(path))
			m.must(os.Symlink(target, path))
		})
	}
}

func (m *machine) path(name string) string { return filepath.Join(m.root, filepath.FromSlash(name)) }

// write writes a file. A file that is there keeps its mode; a new one in a directory bin or shims
// is executable.
func (m *machine) write(name, content string) string {
	m.t.Helper()
	path := m.path(name)
	mode := os.FileMode(0o600)
	if dir := filepath.Base(filepath.Dir(path)); dir == "bin" || dir == "shims" {
		mode = 0o700
	}
	m.keep(path)
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		m.must(os.Remove(path))
	}
	err := os.WriteFile(path, []byte(content), mode)
	if errors.Is(err, os.ErrNotExist) {
		m.must(os.MkdirAll(filepath.Dir(path), 0o700))
		err = os.WriteFile(path, []byte(content), mode)
	}
	m.must(err)
	return path
}

func (m *machine) link(name, target string) {
	m.t.Helper()
	path := m.path(name)
	m.keep(path)
	_ = os.Remove(path)
	m.must(os.MkdirAll(filepath.Dir(path), 0o700))
	m.must(os.Symlink(target, path))
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// command is a command of a project, with the PATH usr/bin.
func (m *machine) command(project, program string, args ...string) *commandfiles.Command {
	m.t.Helper()
	m.must(os.MkdirAll(m.path(project), 0o700))
	c := &commandfiles.Command{
		Program: program, Args: args, Env: map[string]string{"PATH": m.path("usr/bin")},
		Dir: m.path(project), Project: m.path(project), Home: m.path("home"),
	}
	c.CheckLocal = func(path string) error { return m.checkLocal(path, c.Project) }
	return c
}

// find returns what a command runs now.
func (m *machine) find(c *commandfiles.Command) *commandfiles.Found {
	m.t.Helper()
	c.DirTarget = ""
	if real, err := filepath.EvalSymlinks(c.Dir); err == nil && real != filepath.Clean(c.Dir) {
		c.DirTarget = real
	}
	found, err := commandfiles.Find(c)
	m.must(err)
	m.must(found.Verify())
	return found
}

// remember returns what a command runs now, with which differences compares.
func (m *machine) remember(c *commandfiles.Command) *commandfiles.Found {
	m.t.Helper()
	m.remembered[c] = m.find(c)
	return m.remembered[c]
}

// mustDiffer fails unless what a command runs differs from what is remembered, in a way that has
// the text.
func (m *machine) mustDiffer(c *commandfiles.Command, difference string) {
	m.t.Helper()
	got := m.differences(c)
	if !slices.ContainsFunc(got, func(d string) bool { return strings.Contains(d, difference) }) {
		m.t.Errorf("%s %q: got differences %q, want %q", c.Program, c.Args, got, difference)
	}
}

func (m *machine) mustNotDiffer(c *commandfiles.Command) {
	m.t.Helper()
	if got := m.differences(c); len(got) > 0 {
		m.t.Errorf("%s %q: got differences %q, want none", c.Program, c.Args, got)
	}
}

// differences returns what differs from what is remembered, without the root in the paths.
func (m *machine) differences(c *commandfiles.Command) (all []string) {
	m.t.Helper()
	before, after := m.remembered[c].Files, m.find(c).Files
	add := func(f commandfiles.File, what string) {
		all = append(all, strings.ReplaceAll(fmt.Sprintf("%s %s %s", f.Role, f.Path, what), m.root, ""))
	}
	at := func(files []commandfiles.File, path string) int {
		return slices.IndexFunc(files, func(f commandfiles.File) bool { return f.Path == path })
	}
	for _, f := range after {
		switch i := at(before, f.Path); {
		case i < 0:
			add(f, "appeared")
		case before[i].Target != f.Target:
			add(f, "now leads to "+f.Target)
		case before[i].SHA256 != f.SHA256:
			add(f, "changed")
		case before[i] != f:
			add(f, "was the "+string(before[i].Role))
		}
	}
	for _, f := range before {
		if at(after, f.Path) < 0 {
			add(f, "vanished")
		}
	}
	return all
}

// files returns the files that run, without the root, with their roles.
func (m *machine) files(found *commandfiles.Found) (all []string) {
	for _, f := range found.Files {
		text := string(f.Role) + " " + strings.TrimPrefix(f.Path, m.root)
		if f.Target != "" {
			text += " -> " + strings.TrimPrefix(f.Target, m.root)
		}
		all = append(all, text)
	}
	return all
}

func chmodPrivate(path string) error { return os.Chmod(path, 0o700) }

// expanded returns words with /PROJ for the project and /PATH for the directory of programs.
func expanded(m *machine, words []string) (all []string) {
	places := strings.NewReplacer("/PROJ", m.path("proj"), "/PATH", m.path("usr/bin"))
	for _, word := range words {
		all = append(all, places.Replace(word))
	}
	return all
}
