package cli

import (
	"fmt"
	"strings"
)

// detailOf returns the lines of a detail with a text of a server. A text of one line that fits stands behind its name.
func (m *Main) detailOf(name, text string) []string {
	marked := m.markedLines(text)
	if line := fmt.Sprintf("  %-10s %s", name, text); len(marked) == 1 && (!m.Interactive || cutAt(line, m.width()-1) == len(line)) {
		return []string{line}
	}
	return append([]string{"  " + name}, marked...)
}

// printWrapped prints a line that has text of others, see wrapLine.
func (m *Main) printWrapped(format string, args ...any) {
	m.message("%s", strings.Join(m.wrapLine(cleanLine(fmt.Sprintf(format, args...))), "\n"))
}

// wrapLine wraps a line at the width of the terminal. What follows its beginning has a mark in front: where the terminal
// itself would break the line, a text of others could begin one, as words of the host do.
func (m *Main) wrapLine(line string) []string {
	end := cutAt(line, m.width()-1)
	if !m.Interactive || end == len(line) {
		return []string{line}
	}
	return append([]string{line[:end]}, m.markedLines(line[end:])...)
}

// markedLines returns the lines of a text, each with a mark in front. On a terminal they are no longer than its own.
func (m *Main) markedLines(text string) (lines []string) {
	const mark, least = "    | ", 20
	columns := max(least, m.width()-1-len(mark))
	for line := range strings.SplitSeq(text, "\n") {
		for end := cutAt(line, columns); m.Interactive && end < len(line); end = cutAt(line, columns) {
			lines, line = append(lines, mark+line[:end]), line[end:]
		}
		lines = append(lines, mark+line)
	}
	return lines
}
