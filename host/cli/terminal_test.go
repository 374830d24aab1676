package cli

import (
	"encoding/json/v2"
	"strings"
	"testing"
	"unicode"
)

// hostile are texts that a terminal would obey, or that deceive its reader.
var hostile = []string{
	"\x1b[31mred", "\x1b]0;title\a", "\x1b]52;c;aGk=\a", "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
	"\x1b[2J\x1b[H", "\x1bP+q544e\x1b\\", "\x1b[6n", "\x1bc", "\u009b31m", "\u0090q\u009c", "\u009d0;t\u009c",
	"safe\rfake", "a\bb", "\x00\x01\x02\x7f", "\v\f", "\u202Eevil\u202C", "\u2066a\u2069", "\u200Ehidden\u200F", "zero\u200Bwidth",
	"\uFEFFbom", "tag\U000E0041", "line\u2028sep\u2029par", "\xff\xfe\x80", "soft\u00ADhyphen", "\U0010FFFF", "private\uE000",
	"~~~\x1b[?1049h", "\x1b%G", "\x1b#8", "\x18\x1a", "\x05", "\x0e\x0f", "\u0085next",
}

func TestNothingThatATerminalObeysIsLeft(t *testing.T) {
	t.Parallel()
	for _, s := range hostile {
		for name, got := range map[string]string{"clean": clean(s), "cleanLine": cleanLine(s)} {
			if i := strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }); i >= 0 {
				t.Errorf("%s(%q): got %q, want printable characters only", name, s, got)
			}
			if !strings.Contains(got, `\`) {
				t.Errorf("%s(%q): got %q, want an escape that shows what was there", name, s, got)
			}
		}
	}
}

func TestOrdinaryTextStaysAsItIs(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "größe 東京 é", "C:\\dir", "🕑", "a\n\tb"} {
		if got := clean(s); got != s {
			t.Errorf("clean(%q): got %q, want it unchanged", s, got)
		}
	}
	if got, want := cleanLine("a\n\tb"), `a\n\tb`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCleanJSONMeansTheSame(t *testing.T) {
	t.Parallel()
	for _, s := range hostile {
		s = strings.ToValidUTF8(s, "?")
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		cleaned := cleanJSON(text)
		if i := strings.IndexFunc(string(cleaned), func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%q: got %q, want printable characters only", s, cleaned)
		}
		var back string
		if err := json.Unmarshal(cleaned, &back); err != nil || back != s {
			t.Errorf("%q: got %q, %v after %s", s, back, err, cleaned)
		}
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
	} {
		if got := quote(word); got != want {
			t.Errorf("quote(%q): got %s, want %s", word, got, want)
		}
	}
}
