package mcpserver

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxErrorText = 4096 // bytes of an error that a model reads

// cleanText returns s without control characters other than newline and tab, with invalid
// UTF-8 replaced, and truncated to max bytes. A note about the rest is added.
func cleanText(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:max], len(s)-max)
}
