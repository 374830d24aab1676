package spawn

import (
	"fmt"
	"os"
	"strings"
	"unicode"
)

// maxLastLine bounds the line of standard error that an ExitError quotes.
const maxLastLine = 256

// maxStderr bounds what an ExitError holds of standard error.
const maxStderr = 4 << 10

// ExitError tells how a child ended that did not exit with status 0. Its text
// is such as
//
//	exited with status 2: WEATHER_KEY is not set
//	ended by signal: killed
type ExitError struct {
	// Status is the exit status, or -1 when a signal ended the child.
	Status int

	// Reason says how the child ended, such as "exited with status 2" or "ended by
	// signal: killed".
	Reason string

	// LastLine is the last line on standard error that is not blank, in
	// printable characters, cut at 256 bytes. It is empty when there was none.
	LastLine string

	// Stderr is the end of what the child wrote to standard error, at most 4 KiB, as
	// valid UTF-8. It is the child's, and may hold control characters.
	Stderr string
}

func (e *ExitError) Error() string {
	if e.LastLine == "" {
		return e.Reason
	}
	return e.Reason + ": " + e.LastLine
}

func exitError(state *os.ProcessState, t *tail) *ExitError {
	e := &ExitError{Status: state.ExitCode(), LastLine: t.lastLine(), Stderr: t.last(maxStderr)} // -1 for a nil state
	switch {
	case state == nil:
		e.Reason = "ended unobserved" // someone else waited for our child
	case e.Status >= 0:
		e.Reason = fmt.Sprintf("exited with status %d", e.Status)
	default:
		e.Reason = "ended by " + state.String()
	}
	return e
}

// printable makes a line of a child fit for an error text: printable characters
// only, at most limit bytes.
func printable(line string, limit int) string {
	line = strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, line)
	line = strings.TrimSpace(line)
	if len(line) > limit {
		line = strings.ToValidUTF8(line[:limit-len("…")], "") + "…"
	}
	return line
}
