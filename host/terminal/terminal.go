package terminal

import (
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/fondaco/fondaco/host"
)

// IO is the standard input, output and error of a command, and its environment.
type IO struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Env holds variables as os.Environ returns them.
	Env []string
	// Terminal reports that Stdout is a terminal: tables are aligned, and text of servers
	// is sanitized.
	Terminal bool
	// Drawing reports that Stderr is a terminal: progress is drawn in place.
	Drawing bool
	// Interactive reports that Stdin and Stderr are terminals: the user can be asked.
	Interactive bool
	// Quiet suppresses all messages but errors and questions.
	Quiet bool

	messages messages
	asking   sync.Mutex // held while the user is asked, so that one question at a time is open
	lines    lineInput
}

// Getenv returns an environment variable.
func (t *IO) Getenv(name string) (string, bool) {
	for i := len(t.Env) - 1; i >= 0; i-- {
		if key, value, _ := strings.Cut(t.Env[i], "="); key == name {
			return value, true
		}
	}
	return "", false
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// defaultWidth is the width of a terminal that does not report one.
const defaultWidth = 80

// Width is the width of the terminal in characters.
func (t *IO) Width() int {
	said, _ := t.Getenv("COLUMNS")
	if width, err := strconv.Atoi(said); err == nil && width > 0 {
		return width
	}
	for _, w := range []any{t.Stdout, t.Stderr} {
		if f, ok := w.(*os.File); ok {
			if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
				return width
			}
		}
	}
	return defaultWidth
}

// Clean makes text of a server harmless for a terminal, see host.EscapeUnprintable. Newlines
// and tabs stay.
func Clean(s string) string { return host.EscapeUnprintable(s, '\n', '\t') }

// CleanLine is Clean for text on one line.
func CleanLine(s string) string { return host.EscapeUnprintable(s) }

// CleanJSON is Clean for a JSON text, whose meaning does not change.
func CleanJSON(text []byte) []byte {
	return []byte(host.EscapeUnprintable(string(text), '\n', '\r', '\t'))
}
