package consent

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// maxDiffed bounds the lines that are compared one by one. Of more, all are
// shown.
const maxDiffed = 1000

// diff returns the lines of two texts, with "-" before those that are only in
// the first and "+" before those that are only in the second. Lines that both
// have are left out.
func diff(before, after []string) string {
	common := longestCommon(before, after)
	var b strings.Builder
	i, j := 0, 0
	for _, c := range append(common, match{len(before), len(after)}) {
		for ; i < c.before; i++ {
			fmt.Fprintf(&b, "-%s\n", before[i])
		}
		for ; j < c.after; j++ {
			fmt.Fprintf(&b, "+%s\n", after[j])
		}
		i, j = c.before+1, c.after+1
	}
	return b.String()
}

// match is a line that both texts have, by its place in each.
type match struct{ before, after int }

// longestCommon returns the longest sequence of lines that both texts have.
func longestCommon(a, b []string) []match {
	if len(a) > maxDiffed || len(b) > maxDiffed {
		return nil
	}
	length := make([][]int, len(a)+1) // of that of a[i:] and b[j:]
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
				continue
			}
			length[i][j] = max(length[i+1][j], length[i][j+1])
		}
	}
	var common []match
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			common = append(common, match{i, j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return common
}

// linesOf writes a definition for people, on many lines.
func linesOf(definition jsontext.Value) []string {
	text := definition.Clone()
	if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
		text = definition
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		lines[i] = host.Visible(line)
	}
	return lines
}
