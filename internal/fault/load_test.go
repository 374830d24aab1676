//go:build unix && load

package fault_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestLoadRollingRestart(t *testing.T) {
	replaced{how: syscall.SIGTERM, rounds: 5, lameDuck: 2 * time.Second, callers: 8}.test(t)
}

func TestLoadKilledReplicas(t *testing.T) {
	replaced{how: syscall.SIGKILL, rounds: 20, callers: 8}.test(t)
}

// A server that ignores the end of its input and SIGTERM is killed in time.
func TestLoadStoppedServerCloses(t *testing.T) {
	giveBack(t)
	c, err := mcpclient.Connect(t.Context(), command("stdio"), &mcpclient.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pidOf(t, c, "pid"), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := c.Close(); err != nil || time.Since(begun) > 8*time.Second {
		t.Errorf("close: %v after %v, want 8 s at most", err, time.Since(begun))
	}
}

func TestLoadTricklingReaders(t *testing.T) { testTrickling(t, 20, true) }
