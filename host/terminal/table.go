package terminal

import (
	"fmt"
	"strings"
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
			widths[i] = max(widths[i], alignedColumns(cell))
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
		shown := fit(cell, max(left, minCell), usualColumns)
		left -= widths[i] + len(gap)
		if styleOf != nil {
			b.WriteString(t.Paint(styleOf(i, cell), shown))
		} else {
			b.WriteString(shown)
		}
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-alignedColumns(cell)) + gap)
		}
	}
	_, err := fmt.Fprintln(t.Stdout, strings.TrimRight(b.String(), " "))
	return err
}

// minCell is the least number of columns of a cell that is shown.
const minCell = 16

// maxBrief limits a description in a table, in columns.
const maxBrief = 80

// Brief returns the first line of a description, cut.
func Brief(description string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	return fit(line, maxBrief, usualColumns)
}
