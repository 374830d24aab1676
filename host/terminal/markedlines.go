package terminal

import (
	"fmt"
	"strings"
)

// DetailLines returns the lines of a detail with a text of a server. A text of one line that fits stands behind its name.
func (t *IO) DetailLines(name, text string) []string {
	marked := t.MarkedLines(text)
	if line := fmt.Sprintf("  %-10s %s", name, text); len(marked) == 1 && (!t.Interactive || CutAt(line, t.Width()-1) == len(line)) {
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
	end := CutAt(line, t.Width()-1)
	if !t.Interactive || end == len(line) {
		return []string{line}
	}
	return append([]string{line[:end]}, t.MarkedLines(line[end:])...)
}

// MarkedLines returns the lines of a text, each with a mark in front. On a terminal they are no longer than its own.
func (t *IO) MarkedLines(text string) (lines []string) {
	const mark, least = "    | ", 20
	columns := max(least, t.Width()-1-len(mark))
	for line := range strings.SplitSeq(text, "\n") {
		for end := CutAt(line, columns); t.Interactive && end < len(line); end = CutAt(line, columns) {
			lines, line = append(lines, mark+line[:end]), line[end:]
		}
		lines = append(lines, mark+line)
	}
	return lines
}
