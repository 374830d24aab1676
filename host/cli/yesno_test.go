package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestOnlyYesIsYes(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-363a")
	plain := yesNo{text: "Start it?", options: []option{{letter: "s", does: "shows the texts"}}}
	for _, test := range []struct {
		question yesNo
		typed    string
		want     string
		asked    int
		err      error
	}{
		{plain, "y\n", yes, 1, nil},
		{plain, " YES \n", yes, 1, nil},
		{plain, "\n", no, 1, nil},
		{plain, "No\n", no, 1, nil},
		{plain, "s\n", "s", 1, nil},
		{plain, "yep\ny\n", yes, 2, nil},
		{plain, "yep\nyse\nj\ny\n", no, 3, nil},
		{plain, "yep\n", no, 2, io.EOF},
		{plain, "", no, 1, io.EOF},
		{yesNo{text: "Send it?", defaultYes: true}, "\n", yes, 1, nil},
		{yesNo{text: "Send it?", defaultYes: true}, "s\nx\nz\n", no, 3, nil},
		{yesNo{text: "Send it?", defaultYes: true}, "", no, 1, io.EOF},
	} {
		var words bytes.Buffer
		m := &Main{Stdin: strings.NewReader(test.typed), Stderr: &words}
		got, err := m.askYesNo(t.Context(), test.question)
		if asked := strings.Count(words.String(), test.question.text); got != test.want || asked != test.asked || !errors.Is(err, test.err) {
			t.Errorf("%q: got %q, %v, asked %d times, want %q, %v, %d times\n%s", test.typed, got, err, asked, test.want, test.err, test.asked, words.String())
		}
	}
	if got, want := plain.prompt(), "Start it? [y/N, s shows the texts]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMessagesStandAboveTheOpenQuestion(t *testing.T) {
	t.Parallel()
	var words bytes.Buffer
	m := &Main{Stderr: &words, Drawing: true}
	m.messages.question = "Start it? [y/N] "
	m.message("one line")
	if got, want := words.String(), eraseLine+"one line\nStart it? [y/N] "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
