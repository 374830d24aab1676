package cli

import (
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/fondaco/fondaco/host"
)

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// defaultWidth is the width of a terminal that does not report one.
const defaultWidth = 80

// width is the width of the terminal in characters.
func (m *Main) width() int {
	said, _ := m.getenv("COLUMNS")
	if width, err := strconv.Atoi(said); err == nil && width > 0 {
		return width
	}
	for _, w := range []any{m.Stdout, m.Stderr} {
		if f, ok := w.(*os.File); ok {
			if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
				return width
			}
		}
	}
	return defaultWidth
}

// clean makes text of a server harmless for a terminal, see host.EscapeUnprintable. Newlines
// and tabs stay.
func clean(s string) string { return host.EscapeUnprintable(s, '\n', '\t') }

// cleanLine is clean for text on one line.
func cleanLine(s string) string { return host.EscapeUnprintable(s) }

// cleanJSON is clean for a JSON text, whose meaning does not change.
func cleanJSON(text []byte) []byte {
	return []byte(host.EscapeUnprintable(string(text), '\n', '\r', '\t'))
}
