package terminal

import (
	"bytes"
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
