package terminal

import (
	"fmt"
	"strings"
)

// DetailLines returns the lines of a detail with a text of a server. A text of one line that fits stands behind its name.
func (t *IO) DetailLines(name, text string) []string {
	marked := t.MarkedLines(text)
	if line := fmt.Sprintf("  %-10s %s", name, text); len(marked) == 1 && (!t.Interactive || t.Fits(line)) {
		return []string{line}
	}
	return append([]string{"  " + name}, marked...)
}

// PrintWrapped prints a line that has text of others, see WrapLine.
func (t *IO) PrintWrapped(format string, args ...any) {
	t.Message("%s", strings.Join(t.WrapLine(CleanLine(fmt.Sprintf(format, args...))), "\n"))
}

// WrapLine wraps a line at the width of the terminal. What follows its beginning has a mark in front: where the terminal
// itself would break the line, a text of others could begin one, as words of the host do.
func (t *IO) WrapLine(line string) []string {
	if !t.Interactive {
		return []string{line}
	}
	return t.wrap(line)
}

// wrap is WrapLine for terminals.
func (t *IO) wrap(line string) []string {
	end := cutAt(line, t.Width()-1, mostColumns)
	lines := []string{line[:end]}
	if end < len(line) {
		for _, part := range broken(line[end:], t.markedColumns()) {
			lines = append(lines, mark+part)
		}
	}
	return lines
}

// MarkedLines returns the lines of a text, each with a mark in front. On a terminal they are no longer than its own.
func (t *IO) MarkedLines(text string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		parts := []string{line}
		if t.Interactive {
			parts = broken(line, t.markedColumns())
		}
		for _, part := range parts {
			lines = append(lines, mark+part)
		}
	}
	return lines
}

// mark stands in front of what others say.
const mark = "    | "

// leastMarked is the least number of columns behind a mark.
const leastMarked = 20

func (t *IO) markedColumns() int { return max(leastMarked, t.Width()-1-len(mark)) }
