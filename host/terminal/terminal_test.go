package terminal

import (
	"encoding/json/v2"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/hostiletext"
)

func TestTerminalControlSequencesAreRemoved(t *testing.T) {
	t.Parallel()
	for _, s := range hostiletext.Texts() {
		for name, got := range map[string]string{"Clean": Clean(s), "CleanLine": CleanLine(s)} {
			if hostiletext.Unshown(got, "") >= 0 {
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
		if got := Clean(s); got != s {
			t.Errorf("Clean(%q): got %q, want it unchanged", s, got)
		}
	}
	if got, want := CleanLine("a\n\tb"), `a\n\tb`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEscapedJSONHasTheSameValue(t *testing.T) {
	t.Parallel()
	for _, s := range hostiletext.Texts() {
		s = strings.ToValidUTF8(s, "?")
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		cleaned := CleanJSON(text)
		if hostiletext.Unshown(string(cleaned), "\ufffd") >= 0 {
			t.Errorf("%q: got %q, want printable characters only", s, cleaned)
		}
		var back string
		if err := json.Unmarshal(cleaned, &back); err != nil || back != s {
			t.Errorf("%q: got %q, %v after %s", s, back, err, cleaned)
		}
	}
}

func FuzzCleanTextIsHarmless(f *testing.F) {
	for _, s := range hostiletext.Texts() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := Clean(s); hostiletext.Unshown(got, "\n\t\ufffd") >= 0 || Clean(got) != got {
			t.Errorf("Clean(%q): got %q", s, got)
		}
		if got := CleanLine(s); hostiletext.Unshown(got, "\ufffd") >= 0 {
			t.Errorf("CleanLine(%q): got %q", s, got)
		}
		text, err := json.Marshal(s)
		if err != nil {
			return // not UTF-8, and so not JSON
		}
		var back string
		if got := CleanJSON(text); hostiletext.Unshown(string(got), "\ufffd") >= 0 || json.Unmarshal(got, &back) != nil || back != s {
			t.Errorf("CleanJSON(%q): got %q", text, got)
		}
	})
}

func TestLongLineIsWrappedBehindAMark(t *testing.T) {
	t.Parallel()
	words := new(strings.Builder)
	io := &IO{Stderr: words, Interactive: true, Env: []string{"COLUMNS=60"}}
	io.PrintWrapped("  %s", "sh -c '"+strings.Repeat(" ", 60)+"roots      none'")
	io.PrintWrapped("  %-10s %s", "data", "a\nb")
	if want := "  sh -c '" + strings.Repeat(" ", 50) + "\n    | " + strings.Repeat(" ", 10) + "roots      none'\n  data       a\\nb\n"; words.String() != want {
		t.Errorf("got %q, want %q", words.String(), want)
	}
}
