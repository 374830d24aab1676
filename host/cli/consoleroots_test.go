package cli

import (
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/supervisor"
)

// The demonstration asks the user nothing, and no code is shown for a server that does not exist.
func TestConsoleAddsNoRootToAServerOutsideOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ path, server string }{
		"of the demonstration": {"", "one"},
		"unknown":              {"mcp.json", "two"},
	} {
		s := &consoleSource{host: &hostProcess{path: test.path, servers: new(supervisor.Supervisor)}}
		s.host.servers.Use([]host.Upstream{{Key: test.server}})
		if err := s.AddRoot(t.Context(), "one", t.TempDir(), ""); err == nil {
			t.Errorf("%s: got a root added, want an error", name)
		}
		if err := s.ShowRootCode(t.Context(), "one", t.TempDir()); err == nil {
			t.Errorf("%s: got a code shown, want an error", name)
		}
	}
}
