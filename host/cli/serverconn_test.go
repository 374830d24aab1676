package cli

import (
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestTypedProgramHasTwoMinutesToStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flags serverFlags
		want  mcpclient.TimeoutOptions // zero is the default of the client
	}{
		"a program":                 {serverFlags{command: []string{"go", "run", "."}}, mcpclient.TimeoutOptions{Connect: 2 * time.Minute}},
		"a URL":                     {serverFlags{url: "https://example.com/mcp"}, mcpclient.TimeoutOptions{}},
		"a program, with --timeout": {serverFlags{command: []string{"server"}, timeout: time.Second}, mcpclient.TimeoutOptions{Call: -1, MaxCall: -1, Connect: 2 * time.Second}},
	} {
		var got mcpclient.TimeoutOptions
		if test.flags.setTimeouts(&got); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}
