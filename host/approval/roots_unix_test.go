//go:build unix

package approval_test

import (
	"slices"
	"testing"

	"github.com/fondaco/fondaco/host"
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
		if got := m.approve(u).Subject.Roots; !slices.Equal(got, u.Settings.Roots) {
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
