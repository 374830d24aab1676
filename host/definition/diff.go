package definition

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/host"
)

const (
	// maxDiffLines limits the lines of one text that are compared one by one. Longer texts
	// are shown whole.
	maxDiffLines = 1000
	// maxComparisons limits the comparisons of lines for one change, which take half a
	// second. The texts after that are shown whole.
	maxComparisons = 100_000_000
)

// differ compares the definitions of one change.
type differ struct{ comparisons int }

// diff returns the differing lines of two texts, with "-" before those of the first and
// "+" before those of the second. Common lines are left out.
func (d *differ) diff(before, after []string) string {
	common := d.longestCommon(before, after)
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
func (d *differ) longestCommon(a, b []string) []commonLine {
	if len(a) > maxDiffLines || len(b) > maxDiffLines || d.comparisons+len(a)*len(b) > maxComparisons {
		return nil
	}
	d.comparisons += len(a) * len(b)
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

// diffOf compares two definitions. Nil stands for no definition.
func (d *differ) diffOf(old, text jsontext.Value) string {
	if text == nil {
		return "+(the definition is too large to be shown)\n"
	}
	if old == nil {
		return d.diff(nil, linesOf(text))
	}
	return d.diff(linesOf(old), linesOf(text))
}

// linesOf returns a definition as indented JSON with unprintable characters escaped. A text
// of several lines takes several lines.
func linesOf(definition jsontext.Value) []string {
	text := definition.Clone()
	if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
		text = definition
	}
	var lines []string
	for line := range strings.SplitSeq(string(text), "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for i, part := range splitEscapedLines(line) {
			if i > 0 {
				part = indent + "    " + part
			}
			lines = append(lines, host.EscapeUnprintable(part))
		}
	}
	return lines
}

// splitEscapedLines splits a line of JSON after each escaped line feed.
func splitEscapedLines(line string) (parts []string) {
	start := 0
	for i := 0; i < len(line); i++ {
		if line[i] != '\\' {
			continue
		}
		i++ // the escaped character
		if i < len(line)-1 && line[i] == 'n' {
			parts = append(parts, line[start:i+1])
			start = i + 1
		}
	}
	return append(parts, line[start:])
}
