package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// table is a list to print. The cells may be text of servers.
type table struct {
	head []string
	rows [][]string
	// style returns the style of a cell. It may be nil.
	style func(column int, cell string) style
}

// writeTable prints a table, sanitized: on a terminal with a header, aligned, and cut at
// its width; otherwise only the rows, with tabs.
func (m *Main) writeTable(list table) error {
	for _, row := range list.rows {
		for i, cell := range row {
			row[i] = cleanLine(cell)
		}
	}
	if !m.Terminal {
		for _, row := range list.rows {
			if _, err := fmt.Fprintln(m.Stdout, strings.Join(row, "\t")); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list.rows) == 0 {
		return nil
	}
	widths := list.widths()
	if len(list.head) > 0 {
		if err := m.writeRow(list.head, widths, func(int, string) style { return dim }); err != nil {
			return err
		}
	}
	for _, row := range list.rows {
		if err := m.writeRow(row, widths, list.style); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) widths() []int {
	var widths []int
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// gap is the space between two columns.
const gap = "   "

func (m *Main) writeRow(row []string, widths []int, styleOf func(int, string) style) error {
	var b strings.Builder
	left := m.width()
	for i, cell := range row {
		shown := cut(cell, max(left, minCell))
		left -= widths[i] + len(gap)
		if styleOf != nil {
			b.WriteString(m.paint(styleOf(i, cell), shown))
		} else {
			b.WriteString(shown)
		}
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + gap)
		}
	}
	_, err := fmt.Fprintln(m.Stdout, strings.TrimRight(b.String(), " "))
	return err
}

// minCell is the least number of characters of a cell that is shown.
const minCell = 16

// cut shortens a line to a number of characters.
func cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:max(width-1, 0)]) + "…"
}

// maxBrief limits a description in a table.
const maxBrief = 80

// brief returns the first line of a description, cut.
func brief(description string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	return cut(line, maxBrief)
}
