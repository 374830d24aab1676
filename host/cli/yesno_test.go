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
	plain := yesNo{text: "Start it?", options: []option{showsTexts}}
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

func TestOnlyTheCodeIsYesToAQuestionThatWantsIt(t *testing.T) {
	t.Parallel()
	const prompt = "Start it? [the code for yes, N no, s shows the texts]"
	for typed, want := range map[string]struct {
		answer string
		asked  int
	}{
		"n\n": {no, 1}, "s\n": {"s", 1}, "y\nyes\n12345\n123456\n": {no, maxYesNo},
	} {
		var words bytes.Buffer
		q := &userQuestions{main: &Main{Stdin: strings.NewReader(typed), Stderr: &words}}
		got, err := q.askCode(t.Context(), nil, "", yesNo{text: "Start it?", options: []option{showsTexts}})
		if asked := strings.Count(words.String(), prompt); got != want.answer || asked != want.asked || err != nil {
			t.Errorf("%q: got %q, %v, asked %d times, want %q, %d times\n%s", typed, got, err, asked, want.answer, want.asked, words.String())
		}
		if asked := want.asked == maxYesNo; asked != strings.HasSuffix(words.String(), countsAsNo+"\n") || asked != strings.Contains(words.String(), `found "y", want the code, s or n; the code has six digits`) {
			t.Errorf("%q: got %s", typed, words.String())
		}
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
