package spawn

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"
)

// maxLastLine bounds the line of standard error that an ExitError quotes.
const maxLastLine = 256

// Bounds of the lines that LastLines returns.
const (
	maxLastLines  = 8
	maxQuotedLine = 160
)

// maxStderr bounds the part of standard error that an ExitError has.
const maxStderr = 4 << 10

// ExitError reports how a child ended. Examples of its text:
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
	// valid UTF-8. It may contain control characters of the child.
	Stderr string
}

func (e *ExitError) Error() string {
	if e.LastLine == "" {
		return e.Reason
	}
	return e.Reason + ": " + e.LastLine
}

// LastLines returns the last lines on standard error that are not blank, in printable
// characters and in their order, each truncated to 160 bytes: at most eight of them. Lines
// with the frames of a stack are left out if there are others, because the message is in
// front of them.
func (e *ExitError) LastLines() []string { return lastLines(e.Stderr) }

func lastLines(stderr string) []string {
	if last := lastLinesBut(stderr, isFrame); len(last) > 0 {
		return last
	}
	return lastLinesBut(stderr, func(string) bool { return false })
}

// isFrame reports whether a line is a frame of a stack as Node.js and Java write them.
func isFrame(line string) bool {
	return strings.HasPrefix(strings.TrimLeft(line, " \t"), "at ") && strings.ContainsAny(line[:1], " \t")
}

func lastLinesBut(stderr string, left func(line string) bool) []string {
	var last []string
	lines := strings.Split(stderr, "\n")
	for i := len(lines) - 1; i >= 0 && len(last) < maxLastLines; i-- {
		if line := printable(lines[i], maxQuotedLine); line != "" && !left(lines[i]) {
			last = append(last, line)
		}
	}
	slices.Reverse(last)
	return last
}

func exitError(state *os.ProcessState, t *tail) *ExitError {
	e := &ExitError{Status: state.ExitCode(), LastLine: t.lastLine(), Stderr: t.last(maxStderr)} // -1 for a nil state
	switch {
	case state == nil:
		e.Reason = "ended unobserved" // other code in this process has waited for the child
	case e.Status >= 0:
		e.Reason = fmt.Sprintf("exited with status %d", e.Status)
	default:
		e.Reason = "ended by " + state.String()
	}
	return e
}

// printable prepares a line of a child for an error text: it keeps printable characters only,
// at most limit bytes.
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
