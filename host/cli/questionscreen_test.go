package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/internal/hostiletext"
)

func TestTextOfOthersBeginsNoLineOfAQuestion(t *testing.T) {
	t.Parallel()
	text := hostiletext.Imitation()
	asked := consent.Question{ID: "1", Text: text, Client: text, Details: []consent.Detail{{Name: consent.DetailMessage, Text: text}}}
	for name, show := range map[string]func(m *Main){
		"a call":              func(m *Main) { m.showQuestion(&asked, maxShownArguments) },
		"a server's question": func(m *Main) { m.showServerDetails(&asked) },
	} {
		for _, columns := range []int{40, 80, 81, 200} {
			words := new(strings.Builder)
			show(&Main{IO: terminal.IO{Stderr: words, Interactive: true, Env: []string{fmt.Sprintf("COLUMNS=%d", columns)}}, Args: []string{"fondaco"}})
			if !strings.Contains(words.String(), "imitated  none") {
				t.Errorf("%s: got %s, want the texts shown", name, words)
			}
			for line := range strings.SplitSeq(words.String(), "\n") {
				if strings.Contains(line, "none") && line != terminal.Fit(line, columns) {
					t.Errorf("%s: got %q, which a terminal of %d columns breaks", name, line, columns)
				}
			}
			if line := hostiletext.Imitated(words.String()); line != "" {
				t.Errorf("%s in %d columns: got %q, want a mark in front", name, columns, line)
			}
		}
	}
}
