package terminal

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// A line is measured in columns of the terminal. Terminals differ about many characters that are not ASCII, so there are two
// measures: mostColumns for lines that the terminal must not break, and usualColumns to align tables.

// Fits reports whether a line stays on one line of the terminal, however wide the terminal shows its characters.
func (t *IO) Fits(line string) bool { return cutAt(line, t.Width()-1, mostColumns) == len(line) }

// Fit cuts a line at a number of columns, however wide the terminal shows its characters.
func Fit(line string, columns int) string { return fit(line, columns, mostColumns) }

// fit cuts a line at a number of columns of a measure.
func fit(line string, columns int, of func(rune) int) string {
	if cutAt(line, columns, of) == len(line) {
		return line
	}
	return line[:cutAt(line, columns-of('…'), of)] + "…"
}

// broken returns the parts of a line that fit into a number of columns each, which are at least two.
func broken(line string, columns int) (parts []string) {
	for end := cutAt(line, columns, mostColumns); end < len(line); end = cutAt(line, columns, mostColumns) {
		parts, line = append(parts, line[:end]), line[end:]
	}
	return append(parts, line)
}

// cutAt returns how many bytes of a line fit into a number of columns of a measure.
func cutAt(line string, columns int, of func(rune) int) int {
	used := 0
	for i, r := range line {
		if used += of(r); used > columns {
			return i
		}
	}
	return len(line)
}

// alignedColumns returns the columns of a cell of a table.
func alignedColumns(cell string) (columns int) {
	for _, r := range cell {
		columns += usualColumns(r)
	}
	return columns
}

// mostColumns returns how many columns a character takes at most. Some terminals show characters of ambiguous width, marks and
// symbols wider than others do.
func mostColumns(r rune) int {
	switch {
	case r == '\t':
		return 8
	case r >= utf8.RuneSelf:
		return 2
	}
	return 1
}

// usualColumns returns how many columns a printable character takes on most terminals.
//
// Spec: Unicode Standard Annex #11, East Asian Width
func usualColumns(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
