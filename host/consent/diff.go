package consent

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// maxDiffLines limits the lines that are compared one by one. Longer texts are shown
// whole.
const maxDiffLines = 1000

// diff returns the differing lines of two texts, with "-" before those of the first and
// "+" before those of the second. Common lines are left out.
func diff(before, after []string) string {
	common := longestCommon(before, after)
	var b strings.Builder
	i, j := 0, 0
	for _, c := range append(common, commonLine{len(before), len(after)}) {
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

// commonLine is a line that both texts have, by its index in each.
type commonLine struct{ before, after int }

// longestCommon returns the longest common subsequence of lines.
func longestCommon(a, b []string) []commonLine {
	if len(a) > maxDiffLines || len(b) > maxDiffLines {
		return nil
	}
	length := make([][]int, len(a)+1) // of the subsequence of a[i:] and b[j:]
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
	var common []commonLine
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			common = append(common, commonLine{i, j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return common
}

// indentedLines returns a definition as indented JSON with unprintable characters
// escaped.
func indentedLines(definition jsontext.Value) []string {
	text := definition.Clone()
	if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
		text = definition
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		lines[i] = host.EscapeUnprintable(line)
	}
	return lines
}
