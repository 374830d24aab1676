//go:build unix

package approval_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestProjectCannotAddRootsWithoutApproval(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-316b")
	m := newMachine(t)
	program := m.server("proj", "a", "node", "-v")
	remote := &host.Upstream{
		Key: "b", Target: mcpclient.URL("https://b.example/mcp"), Transport: "over HTTP", Origin: program.Origin,
		Source: &host.Source{URL: literal("https://b.example/mcp")},
	}
	for _, u := range []*host.Upstream{program, remote} {
		u.Settings.Roots = []string{m.path("proj/src")}
		if got := m.approve(u).Subject.Roots; !slices.Equal(got, []approval.Root{{Path: m.path("proj/src")}}) {
			t.Errorf("got %q, want the question to name %q", got, u.Settings.Roots)
		}
		u.Settings.Roots = append(u.Settings.Roots, m.path("home/work"))
		m.mustAsk(u, "roots, in addition: /home/work")
		m.mustAsk(u, "unusual, in addition: the directory /home/work, which the server gets as a root, is outside of the project")
		m.approve(u)
		u.Origin.Project = ""
		u.Key += "-own"
		m.approve(u)
		u.Settings.Roots = nil
		m.mustNotAsk(u)
	}
}

func TestRootThatLeadsElsewhereSinceItsApprovalIsNotGiven(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]struct {
		before, change func(m *machine)
		given          string // what the root is given as before the change; empty if it does not exist
	}{
		"a directory becomes a link": {
			before: func(m *machine) { m.must(os.MkdirAll(m.path("proj/data/src"), 0o700)) },
			change: func(m *machine) {
				m.must(os.Remove(m.path("proj/data/src")))
				m.link("proj/data/src", m.path("secrets"))
			},
			given: "proj/data/src",
		},
		"the directory above becomes a link": {
			before: func(m *machine) { m.must(os.MkdirAll(m.path("proj/data/src"), 0o700)) },
			change: func(m *machine) {
				m.must(os.Rename(m.path("proj/data"), m.path("proj/old")))
				m.must(os.MkdirAll(m.path("secrets/src"), 0o700))
				m.link("proj/data", m.path("secrets"))
			},
			given: "proj/data/src",
		},
		"a link that was approved leads elsewhere": {
			before: func(m *machine) {
				m.must(os.MkdirAll(m.path("elsewhere"), 0o700))
				m.link("proj/data/src", m.path("elsewhere"))
			},
			change: func(m *machine) { m.link("proj/data/src", m.path("secrets")) },
			given:  "elsewhere",
		},
		"a link behind the link that was approved": {
			before: func(m *machine) {
				m.must(os.MkdirAll(m.path("elsewhere"), 0o700))
				m.link("second", m.path("elsewhere"))
				m.link("proj/data/src", m.path("second"))
			},
			change: func(m *machine) { m.link("second", m.path("secrets")) },
			given:  "elsewhere",
		},
		"what did not exist is created as a link": {
			before: func(*machine) {},
			change: func(m *machine) { m.link("proj/data/src", m.path("secrets")) },
			given:  "proj/data/src",
		},
		"the link above what does not exist leads elsewhere": {
			before: func(m *machine) {
				m.must(os.MkdirAll(m.path("elsewhere"), 0o700))
				m.link("proj/data", m.path("elsewhere"))
			},
			change: func(m *machine) { m.link("proj/data", m.path("secrets")) },
			given:  "elsewhere/src",
		},
		"what a dangling link leads to is created": {
			before: func(m *machine) { m.link("proj/data/src", m.path("secrets/later")) },
			change: func(m *machine) { m.must(os.MkdirAll(m.path("secrets/later"), 0o700)) },
			given:  "proj/data/src",
		},
		"the project becomes a link": {
			before: func(m *machine) { m.must(os.MkdirAll(m.path("proj/data/src"), 0o700)) },
			change: func(m *machine) {
				m.must(os.Rename(m.path("proj"), m.path("moved")))
				m.link("proj", m.path("moved"))
			},
			given: "proj/data/src",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.must(os.MkdirAll(m.path("secrets"), 0o700))
			m.must(os.MkdirAll(m.path("proj/docs"), 0o700))
			remote := &host.Upstream{
				Key: "b", Target: mcpclient.URL("https://b.example/mcp"), Transport: "over HTTP", Origin: m.server("proj", "b", "node").Origin,
				Source: &host.Source{URL: literal("https://b.example/mcp")},
			}
			src, docs := m.path("proj/data/src"), m.path("proj/docs")
			remote.Settings.Roots = []string{src, docs}
			attack.before(m)
			m.approve(remote)
			roots := func() ([]string, error) { return m.a.AdmitRoots(t.Context(), remote, remote.Settings.Roots) }
			if got, err := roots(); err != nil || !slices.Equal(got, []string{m.path(attack.given), docs}) {
				t.Fatalf("got %q, %v, want what was approved", got, err)
			}
			attack.change(m)
			got, err := roots()
			if !errors.Is(err, host.ErrNeedsApproval) || !strings.Contains(err.Error(), filepath.Base(src)) || slices.ContainsFunc(got, func(path string) bool { return path != docs }) {
				t.Errorf("got %q, %v, want it left out and an approval needed", got, err)
			}
			m.mustAsk(remote, "the directory behind the root /proj/data/src is")
			m.approve(remote)
			if got, err := roots(); err != nil || len(got) != 2 {
				t.Errorf("got %q, %v, want both after the approval", got, err)
			}
			remote.Origin.Project = ""
			if got, err := roots(); err != nil || !slices.Equal(got, remote.Settings.Roots) {
				t.Errorf("got %q, %v, want the roots of the user's own file as they are", got, err)
			}
		})
	}
}

func TestRootsNeedAnApprovalThatHolds(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	u := m.server("proj", "a", "node", "-v")
	u.Settings.Roots = []string{m.path("proj")}
	m.approve(u)
	m.must(m.a.Forget(t.Context(), u))
	if got, err := m.a.AdmitRoots(t.Context(), u, u.Settings.Roots); len(got) > 0 || !errors.Is(err, host.ErrNeedsApproval) {
		t.Errorf("got %q, %v, want none once the approval was revoked", got, err)
	}
}

func TestRootThatIsCreatedWhereItWasApprovedNeedsNoOtherApproval(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.must(os.MkdirAll(m.path("disk/proj"), 0o700))
	m.link("home/work", m.path("disk")) // as where the home is on another disk
	u := m.server("home/work/proj", "a", "node", "-v")
	u.Settings.Roots = []string{m.path("home/work/proj/src")}
	if p := m.approve(u); len(p.Subject.Program.Concerns) > 0 {
		t.Errorf("got %q, want it inside of the project", p.Subject.Program.Concerns)
	}
	m.must(os.Mkdir(m.path("disk/proj/src"), 0o700))
	m.mustNotAsk(u)
	if got, err := m.a.AdmitRoots(t.Context(), u, u.Settings.Roots); err != nil || !slices.Equal(got, []string{m.path("disk/proj/src")}) {
		t.Errorf("got %q, %v, want the directory without links", got, err)
	}
}
