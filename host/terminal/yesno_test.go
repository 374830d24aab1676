package terminal

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
	plain := YesNo{Text: "Start it?", Options: []Option{{Letter: "s", Does: "shows the texts"}}}
	for _, test := range []struct {
		question YesNo
		typed    string
		want     string
		asked    int
		err      error
	}{
		{plain, "y\n", Yes, 1, nil},
		{plain, " YES \n", Yes, 1, nil},
		{plain, "\n", No, 1, nil},
		{plain, "No\n", No, 1, nil},
		{plain, "s\n", "s", 1, nil},
		{plain, "yep\ny\n", Yes, 2, nil},
		{plain, "yep\nyse\nj\ny\n", No, 3, nil},
		{plain, "yep\n", No, 2, io.EOF},
		{plain, "", No, 1, io.EOF},
	} {
		var words bytes.Buffer
		m := &IO{Stdin: strings.NewReader(test.typed), Stderr: &words}
		got, err := m.AskYesNo(t.Context(), test.question)
		if asked := strings.Count(words.String(), test.question.Text); got != test.want || asked != test.asked || !errors.Is(err, test.err) {
			t.Errorf("%q: got %q, %v, asked %d times, want %q, %v, %d times\n%s", test.typed, got, err, asked, test.want, test.err, test.asked, words.String())
		}
	}
	if got, want := plain.Prompt(), "Start it? [y/N, s shows the texts]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMessagesStandAboveTheOpenQuestion(t *testing.T) {
	t.Parallel()
	var words bytes.Buffer
	m := &IO{Stderr: &words, Drawing: true}
	m.messages.question = "Start it? [y/N] "
	m.Message("one line")
	if got, want := words.String(), eraseLine+"one line\nStart it? [y/N] "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
