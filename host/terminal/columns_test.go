package terminal

import (
	"strings"
	"testing"
)

func TestLinesFitTheTerminal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ line, want string }{
		{"", ""}, {"0123456789", "0123456789"}, {"0123456789a", "01234567…"}, {"東京東京東", "東京東京東"}, {"東京東京東京", "東京東京…"}, {"a\tbc", "a…"},
	} {
		if got := Fit(test.line, 10); got != test.want {
			t.Errorf("%q: got %q, want %q", test.line, got, test.want)
		}
	}
}

func TestTablesAreAlignedByColumns(t *testing.T) {
	t.Parallel()
	var words strings.Builder
	to := &IO{Stdout: &words, Terminal: true, Env: []string{"COLUMNS=30", "NO_COLOR=1"}}
	err := to.WriteTable(Table{Rows: [][]string{
		{"plain", "1", strings.Repeat("a", 40)}, {"größe", "2", strings.Repeat("я", 40)}, {"東京", "3", strings.Repeat("東", 40)}, {"e\u0301te\u0301", "4", "-"},
	}})
	// The last column has 30 columns less two cells and their gaps.
	want := "plain   1   " + strings.Repeat("a", 17) + "…\n" + "größe   2   " + strings.Repeat("я", 17) + "…\n" +
		"東京    3   " + strings.Repeat("東", 8) + "…\n" + "e\u0301te\u0301     4   -\n"
	if got := words.String(); err != nil || got != want {
		t.Errorf("got\n%s, %v, want\n%s", got, err, want)
	}
}
