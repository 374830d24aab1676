package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
)

// newTestMain returns a run of the program with a home of its own, whose user types lines on a
// terminal. It writes messages to stderr, and no audit log.
func newTestMain(t *testing.T, typed string, stderr io.Writer) *Main {
	t.Helper()
	home := t.TempDir()
	return &Main{
		IO: terminal.IO{
			Env:         []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + home, "FONDACO_USER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
			Stdin:       strings.NewReader(typed),
			Stdout:      io.Discard,
			Stderr:      stderr,
			Interactive: true,
		},
		Args:           []string{"fondaco"},
		recordDecision: func(host.Decision) error { return nil },
	}
}
