package cli

import (
	"testing"

	"github.com/fondaco/fondaco/host"
)

func TestServersThatAreNotReadyHaveACommand(t *testing.T) {
	t.Parallel()
	h := &hostProcess{main: &Main{Args: []string{"fondaco"}}, config: "mcp.json"}
	for _, c := range []struct {
		status host.Status
		want   string
	}{
		{host.Status{Key: "a", State: host.Ready}, ""},
		{host.Status{Key: "a", State: host.Ready, WaitingCount: 1}, "fondaco approve a --config mcp.json"},
		{host.Status{Key: "a", State: host.NeedsApproval}, "fondaco approve a --config mcp.json"},
		{host.Status{Key: "a", State: host.NeedsSignIn, WantsKey: true}, "fondaco set a --header 'Authorization: Bearer KEY' --config mcp.json"},
		{host.Status{Key: "a", State: host.Failed}, "fondaco doctor a --config mcp.json"},
		{host.Status{Key: "a", State: host.Suspended}, "fondaco doctor a --config mcp.json"},
	} {
		if got := h.mendingCommand(&c.status); got != c.want {
			t.Errorf("%s: got %q, want %q", c.status.State, got, c.want)
		}
	}
}
