package cli

import (
	"encoding/json/v2"
	"strings"
	"testing"
	"unicode"
)

func TestTerminalControlSequencesAreRemoved(t *testing.T) {
	t.Parallel()
	if len(Hostile) < 60 {
		t.Errorf("got %d cases, want 60", len(Hostile))
	}
	for _, s := range Hostile {
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

func TestOrdinaryTextIsUnchanged(t *testing.T) {
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

func TestEscapedJSONHasTheSameValue(t *testing.T) {
	t.Parallel()
	for _, s := range Hostile {
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

func FuzzCleanTextIsHarmless(f *testing.F) {
	for _, s := range Hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		harmful := func(keep string) func(rune) bool {
			return func(r rune) bool { return !unicode.IsPrint(r) && !strings.ContainsRune(keep, r) }
		}
		if got := clean(s); strings.IndexFunc(got, harmful("\n\t")) >= 0 || clean(got) != got {
			t.Errorf("clean(%q): got %q", s, got)
		}
		if got := cleanLine(s); strings.IndexFunc(got, harmful("")) >= 0 {
			t.Errorf("cleanLine(%q): got %q", s, got)
		}
		text, err := json.Marshal(s)
		if err != nil {
			return // not UTF-8, and so not JSON
		}
		var back string
		if got := cleanJSON(text); strings.IndexFunc(string(got), harmful("")) >= 0 || json.Unmarshal(got, &back) != nil || back != s {
			t.Errorf("cleanJSON(%q): got %q", text, got)
		}
	})
}
