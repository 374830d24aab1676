package host_test

import (
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/hostiletext"
)

func TestUnprintableCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"rm -rf ~/größe 日本":   "rm -rf ~/größe 日本",
		"a\nb\tc\x1b[2J":      `a\nb\tc\u001b[2J`,
		"exe.\u202etxt":       `exe.\u202etxt`,
		"hidden\U000e0041":    `hidden\udb40\udc41`,
		"heart\ufe0f\u3164":   `heart\ufe0f\u3164`,
		"not UTF-8: \xff end": `not UTF-8: \xff end`,
	} {
		if got := host.EscapeUnprintable(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestHostileTextsAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	texts := hostiletext.Texts()
	if len(texts) < 300 {
		t.Errorf("got %d texts, want at least 300", len(texts))
	}
	for _, text := range texts {
		if got := host.EscapeUnprintable(text); hostiletext.Unshown(got, "") >= 0 || got == text {
			t.Errorf("%q: got %q, want escapes of what is not shown", text, got)
		}
	}
}

// Texts of ordinary languages and most symbols must stay readable.
func TestOrdinaryTextIsNotEscaped(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "plain ~!@#$%^&*()", "größe 東京 é e\u0301", "C:\\dir", "🕑👩🏽", "עברית العربية हिन्दी ไทย 한국어 ខ្មែរ", "\ufffd", "∑ → ½ № ⠿ 𝄞",
	} {
		if got := host.EscapeUnprintable(text); got != text {
			t.Errorf("%q: got %q, want it unchanged", text, got)
		}
	}
	if got, want := host.EscapeUnprintable("a\n\tb\r", '\n', '\t'), "a\n\tb\\r"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWordsAreQuotedForAShell(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"bin/fondaco":  "bin/fondaco",
		"/a b/fondaco": "'/a b/fondaco'",
		"it's":         `'it'\''s'`,
		"$(x)":         "'$(x)'",
		"":             "''",
		"a\x1b[2Jb":    `'a\u001b[2Jb'`,
	} {
		if got := host.ShellQuote(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}
