package host

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Visible writes what is not printable, such as what changes the direction of
// writing, as escapes of JSON: what the user is asked to approve must look like
// what it is, and nothing that a model reads is hidden from the user.
func Visible(s string) string {
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
