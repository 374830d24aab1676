package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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

// A terminal erases one line: what is longer would stay, and be drawn again below.
func TestProgressStaysOnItsLine(t *testing.T) {
	t.Parallel()
	for _, total := range []float64{0, 2} {
		var words bytes.Buffer
		w := &Progress{to: &IO{Stderr: &words, Drawing: true, Env: []string{"COLUMNS=60"}}, what: "call", since: time.Now().Add(-time.Minute)}
		w.Show(mcp.ProgressParams{Progress: 1, Total: total, Message: strings.Repeat("東京", 40)})
		w.draw()
		line := strings.TrimPrefix(words.String(), EraseLine)
		if wide := strings.Count(line, "東") + strings.Count(line, "京"); wide < 5 || utf8.RuneCountInString(line)+wide > 59 {
			t.Errorf("got %q, want it in 59 columns", line)
		}
	}
}
