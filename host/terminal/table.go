package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Table is a list to print. The cells may be text of servers.
type Table struct {
	Head []string
	Rows [][]string
	// Style returns the style of a cell. It may be nil.
	Style func(column int, cell string) Style
}

// WriteTable prints a table, sanitized: on a terminal with a header, aligned, and cut at
// its width; otherwise only the rows, with tabs.
func (t *IO) WriteTable(list Table) error {
	for _, row := range list.Rows {
		for i, cell := range row {
			row[i] = CleanLine(cell)
		}
	}
	if !t.Terminal {
		for _, row := range list.Rows {
			if _, err := fmt.Fprintln(t.Stdout, strings.Join(row, "\t")); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list.Rows) == 0 {
		return nil
	}
	widths := list.widths()
	if len(list.Head) > 0 {
		if err := t.writeRow(list.Head, widths, func(int, string) Style { return Dim }); err != nil {
			return err
		}
	}
	for _, row := range list.Rows {
		if err := t.writeRow(row, widths, list.Style); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) widths() []int {
	var widths []int
	for _, row := range append([][]string{t.Head}, t.Rows...) {
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

func (t *IO) writeRow(row []string, widths []int, styleOf func(int, string) Style) error {
	var b strings.Builder
	left := t.Width()
	for i, cell := range row {
		shown := Cut(cell, max(left, minCell))
		left -= widths[i] + len(gap)
		if styleOf != nil {
			b.WriteString(t.Paint(styleOf(i, cell), shown))
		} else {
			b.WriteString(shown)
		}
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + gap)
		}
	}
	_, err := fmt.Fprintln(t.Stdout, strings.TrimRight(b.String(), " "))
	return err
}

// minCell is the least number of characters of a cell that is shown.
const minCell = 16

// Cut shortens a line to a number of characters.
func Cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:max(width-1, 0)]) + "…"
}

// maxBrief limits a description in a table.
const maxBrief = 80

// Brief returns the first line of a description, cut.
func Brief(description string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	return Cut(line, maxBrief)
}
