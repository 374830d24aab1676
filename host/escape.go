package host

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/fondaco/fondaco/internal/lookalike"
)

// IsShown reports whether terminals and browsers show a character as itself.
func IsShown(r rune) bool { return lookalike.IsShown(r) }

// EscapeUnprintable makes the characters of a text visible that terminals and browsers do not
// show, or obey: each is written as a JSON escape, except those to keep. Bytes that are not
// UTF-8 are written as \xff. A user who decides on a text must see all of it, including what
// only a model would read, and a text must not drive the terminal.
func EscapeUnprintable(s string, keep ...rune) string {
	first := strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || !IsShown(r) && !slices.Contains(keep, r) })
	if first < 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:first])
	for i := first; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case IsShown(r), slices.Contains(keep, r):
			b.WriteString(s[i : i+size])
		default:
			writeEscape(&b, r)
		}
		i += size
	}
	return b.String()
}

// ShellQuote quotes a word of a command for display and for a shell. Unprintable characters
// are shown as escapes.
func ShellQuote(word string) string {
	plain := word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-") == ""
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(EscapeUnprintable(word), "'", `'\''`) + "'"
}

// writeEscape writes a character as JSON escapes, the short one where there is one.
func writeEscape(b *strings.Builder, r rune) {
	if i := strings.IndexRune("\b\f\n\r\t", r); i >= 0 {
		b.WriteString(`\` + "bfnrt"[i:i+1])
		return
	}
	for _, unit := range utf16.AppendRune(nil, r) {
		fmt.Fprintf(b, `\u%04x`, unit)
	}
}

// CutText returns a text, cut to at most n bytes and a mark.
func CutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
