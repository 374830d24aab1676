// Package notify shows notifications on the desktop of the user, with the program that the
// system has for it. No shell is involved: texts are single arguments or variables.
package notify

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
)

// showTime is how long the program of the system may take.
const showTime = 5 * time.Second

// maxText limits the texts of a notification, in bytes.
const maxText = 500

// Notifier shows notifications. Its methods are safe for concurrent use.
type Notifier struct {
	program string   // absolute path
	env     []string // of the program
}

// Find returns the notifier of the user's desktop, or nil if there is none. Env looks up a
// variable, like os.LookupEnv.
func Find(env func(string) (string, bool)) *Notifier {
	program, needs := find(env)
	if program == "" {
		return nil
	}
	n := &Notifier{program: program}
	for _, name := range needs {
		if value, ok := env(name); ok {
			n.env = append(n.env, name+"="+value)
		}
	}
	return n
}

// Show shows a notification, and returns an error if the program fails. Unprintable characters
// are shown as escapes.
func (n *Notifier) Show(ctx context.Context, title, text string) error {
	ctx, cancel := context.WithTimeout(ctx, showTime)
	defer cancel()
	args, variables := arguments(clean(title), clean(text))
	c := exec.CommandContext(ctx, n.program, args...)
	c.Env = append(append([]string{}, n.env...), variables...) // never nil, which would pass on all variables
	c.Dir = filepath.Dir(n.program)
	c.WaitDelay = time.Second
	if err := c.Run(); err != nil {
		return fmt.Errorf("notification: %w", err)
	}
	return nil
}

// clean returns printable text of limited length.
func clean(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = host.EscapeUnprintable(line)
	}
	return strings.Join(lines, "\n")
}
