package cli

import (
	"testing"

	"github.com/fondaco/fondaco/host"
)

// The demonstration asks the user nothing, and no code is shown for a server that does not exist.
func TestConsoleAddsNoRootToAServerOutsideOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*hostProcess{
		"of the demonstration": {upstreams: []host.Upstream{{Key: "one"}}},
		"unknown":              {upstreams: []host.Upstream{{Key: "two"}}, path: "mcp.json"},
	} {
		s := &consoleSource{host: h}
		if err := s.AddRoot(t.Context(), "one", t.TempDir(), ""); err == nil {
			t.Errorf("%s: got a root added, want an error", name)
		}
		if err := s.ShowRootCode(t.Context(), "one", t.TempDir()); err == nil {
			t.Errorf("%s: got a code shown, want an error", name)
		}
	}
}
