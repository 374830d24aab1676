//go:build unix

package approval_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// machine is a directory with programs and projects, and the approvals of its user.
type machine struct {
	t       *testing.T
	root    string
	store   mcp.Store
	a       *approval.Store
	carried [][]string // changes of approvals that were carried over
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, root: root, store: new(mcpserver.MemoryStore)}
	m.open()
	for _, name := range []string{"env", "node", "python3", "sh", "npx", "uvx", "npm", "go", "docker", "deno"} {
		m.write("usr/bin/"+name, "\x7fELF "+name)
	}
	return m
}

// open opens the approvals anew, as another start of the host does.
func (m *machine) open() {
	m.a = approval.New(m.store, approval.Options{
		Key:         func(context.Context) ([]byte, error) { return bytes.Repeat([]byte("k"), 32), nil },
		OnCarryOver: func(_ *host.Upstream, changes []string) { m.carried = append(m.carried, changes) },
	})
	m.a.SetHome(m.path("home"))
	m.a.SetAdminOnly(func(path string) bool { return strings.HasPrefix(path, m.path("usr")+"/") })
}

func (m *machine) path(name string) string { return filepath.Join(m.root, filepath.FromSlash(name)) }

// write writes a file. Files in a directory bin or shims are executable. It replaces the
// file, and restores its time, as somebody does who wants to be overlooked.
func (m *machine) write(name, content string) string {
	m.t.Helper()
	path := m.path(name)
	before, _ := os.Stat(path)
	mode := os.FileMode(0o600)
	if dir := filepath.Base(filepath.Dir(path)); dir == "bin" || dir == "shims" {
		mode = 0o700
	}
	_ = os.Remove(path)
	m.must(os.MkdirAll(filepath.Dir(path), 0o700))
	m.must(os.WriteFile(path, []byte(content), mode))
	if before != nil {
		m.must(os.Chtimes(path, before.ModTime(), before.ModTime()))
	}
	return path
}

func (m *machine) link(name, target string) {
	m.t.Helper()
	path := m.path(name)
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

// server is a server of a configuration, with the PATH usr/bin.
func (m *machine) server(project, name, command string, args ...string) *host.Upstream {
	m.t.Helper()
	m.must(os.MkdirAll(m.path(project), 0o700))
	t := mcpclient.Command(command, args...)
	t.Dir, t.Env = m.path(project), map[string]string{"PATH": m.path("usr/bin")}
	return &host.Upstream{Key: name, Target: t, Origin: host.Origin{File: m.path(project + "/.mcp.json"), Project: m.path(project)}}
}

func (m *machine) check(u *host.Upstream) *approval.Pending {
	m.t.Helper()
	p, err := m.a.Check(m.t.Context(), u)
	m.must(err)
	return p
}

// approve approves what a server needs approval for, and returns it.
func (m *machine) approve(u *host.Upstream) *approval.Pending {
	m.t.Helper()
	p := m.check(u)
	if p == nil {
		m.t.Fatalf("%s is approved already", u.Key)
	}
	m.must(m.a.Approve(m.t.Context(), p, "by the user"))
	if _, err := m.a.Admit(m.t.Context(), u); err != nil {
		m.t.Fatalf("admit after the approval: %v", err)
	}
	return p
}

// mustAsk fails unless a server is not admitted, with a change that has the text.
func (m *machine) mustAsk(u *host.Upstream, change string) {
	m.t.Helper()
	if _, err := m.a.Admit(m.t.Context(), u); !errors.Is(err, host.ErrNeedsApproval) {
		m.t.Errorf("admit: got %v, want it to need approval", err)
	}
	p := m.check(u)
	if p == nil {
		m.t.Errorf("got it approved, want a question about %s", change)
		return
	}
	if !slices.ContainsFunc(p.Changes, func(c string) bool { return strings.Contains(strings.ReplaceAll(c, m.root, ""), change) }) {
		m.t.Errorf("got changes %q, want %s", p.Changes, change)
	}
}

func (m *machine) mustNotAsk(u *host.Upstream) {
	m.t.Helper()
	if p := m.check(u); p != nil {
		m.t.Errorf("%s: got a question about %q, want none", u.Key, p.Changes)
	}
}

// literal returns a text of a configuration without references.
func literal(text string) host.Text { return host.Text{Written: text} }

// variable returns a text that is the value of a variable.
func variable(name string) host.Text {
	return host.Text{Written: "${env:" + name + "}", References: []host.Reference{{Kind: host.VariableReference, Name: name}}}
}

func chmodPrivate(path string) error { return os.Chmod(path, 0o700) }
