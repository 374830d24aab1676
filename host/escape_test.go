package host_test

import (
	"testing"

	"github.com/fondaco/fondaco/host"
)

func TestUnprintableCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"rm -rf ~/größe 日本":   "rm -rf ~/größe 日本",
		"a\nb\tc\x1b[2J":      `a\u000ab\u0009c\u001b[2J`,
		"exe.\u202etxt":       `exe.\u202etxt`,
		"hidden\U000e0041":    `hidden\udb40\udc41`,
		"not UTF-8: \xff end": "not UTF-8: \ufffd end",
	} {
		if got := host.EscapeUnprintable(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
