package lookalike_test

import (
	"slices"
	"testing"

	"github.com/fondaco/fondaco/internal/lookalike"
)

func TestTextsAreFoldedToWhatTheyLookLike(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                  nil,
		"Your API key":      {"your", "api", "key"},
		"раѕѕword":          {"password"}, // four Cyrillic letters
		"Pass\u200bword":    {"password"},
		"ＰＡＳＳ ｗｏｒｄ":         {"pass", "word"},
		"pásswörd":          {"password"},
		"a\u00a0b\u2028c":   {"a", "b", "c"},
		"x-api_key.2":       {"x", "api", "key", "2"},
		"密码,\U000E0041 abc": {"密码", "abc"},
	} {
		if got := lookalike.Words(lookalike.Fold(text)); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestCharactersThatAreNotShown(t *testing.T) {
	t.Parallel()
	for _, r := range "\x00\n\x7f\u200b\u202e\u3164\u2800\ufe0f\U000E0041\U0001D159" {
		if lookalike.IsShown(r) {
			t.Errorf("%U: got shown", r)
		}
	}
	for _, r := range " a~é密😀" {
		if !lookalike.IsShown(r) {
			t.Errorf("%U: got not shown", r)
		}
	}
}
