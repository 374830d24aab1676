package stdio_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
)

// roleVariable makes the test binary play the server of a test.
const roleVariable = "STDIO_TEST_ROLE"

// roles are the servers.
var roles = map[string]func(args []string){}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		roles[role](os.Args[1:])
		os.Exit(0)
	}
	leak.Main(m)
}

// start runs the test binary in a role and closes it at the end of the test.
func start(t *testing.T, opts *stdio.ChildOptions, role string, args ...string) *stdio.Child {
	t.Helper()
	c, err := stdio.Start(spawn.Command{Path: os.Args[0], Args: args, Env: map[string]string{
		roleVariable: role,
		"GORACE":     "atexit_sleep_ms=0", // the race detector would let a server take its time
	}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	c.SetExitGrace(5 * time.Minute) // for a slow machine
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// background is the context of servers, which have no test.
var background = context.Background()
