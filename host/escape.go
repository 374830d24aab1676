package host

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// EscapeUnprintable writes unprintable characters, such as those that change the
// direction of writing, as JSON escapes. A user who approves a text must see all of it as
// it is, including what only a model would read.
func EscapeUnprintable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
