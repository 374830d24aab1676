package hostiletext

import (
	"fmt"
	"strings"
)

// Imitation returns a text that fills lines of a terminal of any width: where one breaks it, the next line begins with
// words of the host, unless there is a mark in front.
func Imitation() string {
	var b strings.Builder
	for i := range 120 {
		fmt.Fprintf(&b, "%*simitated  none", i%30, "")
	}
	return b.String()
}

// Imitated returns a line of a screen that begins with words of Imitation, or "" if there is none.
func Imitated(screen string) string {
	for line := range strings.SplitSeq(screen, "\n") {
		if begin := strings.TrimLeft(line, " "); strings.HasPrefix(begin, "imitated") || strings.HasPrefix(begin, "none") {
			return line
		}
	}
	return ""
}
