package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

func TestProgressWithoutATotalIsACountFromOneOn(t *testing.T) {
	t.Parallel()
	for progress, want := range map[float64]string{0.0009765625: "waiting\n", 3: "3  waiting\n"} {
		var words bytes.Buffer
		w := &Progress{to: &IO{Stderr: &words}, since: time.Now().Add(-time.Minute)}
		w.Show(mcp.ProgressParams{Progress: progress, Message: "waiting"})
		if got := words.String(); got != want {
			t.Errorf("%v: got %q, want %q", progress, got, want)
		}
	}
}

// What a caller waits for may name a command, so it is shown whole where that is possible.
func TestLongProgressIsWrapped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		total   float64
		message string
		lines   int
	}{
		{0, "東京", 1},
		{0, strings.Repeat("東京", 20) + " fondaco answer 7", 3},
		{2, strings.Repeat("-", 80) + " fondaco answer 7", 3},
		{0, strings.Repeat("東京", 400), maxDrawn},
	} {
		var words bytes.Buffer
		to := &IO{Stderr: &words, Drawing: true, Env: []string{"COLUMNS=60"}}
		w := &Progress{to: to, what: "call", since: time.Now().Add(-time.Minute)}
		w.Show(mcp.ProgressParams{Progress: 1, Total: test.total, Message: test.message})
		w.draw()
		lines := strings.Split(strings.TrimPrefix(words.String(), eraseLine), "\n")
		if len(lines) != test.lines {
			t.Errorf("%.20s: got %q, want %d lines", test.message, lines, test.lines)
		}
		for i, line := range lines {
			if !to.Fits(line) || i > 0 && !strings.HasPrefix(line, mark) {
				t.Errorf("%.20s: got %q, want lines of 59 columns, the further ones with a mark", test.message, line)
			}
		}
		whole := strings.ReplaceAll(strings.Join(lines, "\n"), "\n"+mark, "")
		if shown := strings.Contains(whole, test.message); shown != (test.lines < maxDrawn) || !shown && !strings.HasSuffix(whole, "…") {
			t.Errorf("%.20s: got %q, want it whole, or a mark of the cut", test.message, whole)
		}
	}
}

func TestWrappedProgressIsErasedWhole(t *testing.T) {
	t.Parallel()
	for _, next := range map[string]func(*Progress){"another": (*Progress).draw, "none": (*Progress).Pause} {
		var words bytes.Buffer
		w := &Progress{to: &IO{Stderr: &words, Drawing: true, Env: []string{"COLUMNS=60"}}, what: "call", since: time.Now().Add(-time.Minute)}
		w.Show(mcp.ProgressParams{Progress: 1, Message: strings.Repeat("-", 120)})
		w.draw()
		words.Reset()
		next(w)
		if want := "\r\x1b[2A\x1b[J"; !strings.HasPrefix(words.String(), want) {
			t.Errorf("got %q, want %q first, for three lines", words.String(), want)
		}
	}
}
