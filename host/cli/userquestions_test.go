package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestSecondHostKeepsNoTerminalThatItGotByARemovedEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(mcpserver.MemoryStore)
		newHost := func() (q *userQuestions, screen func() string, stop func()) {
			m, keys, screen := terminalOf(t)
			q = questionsAt(m, store)
			q.settings.Silent = true
			end := q.start(t.Context(), "/run/s")
			return q, screen, func() {
				end()
				_ = keys.Close()
			}
		}
		first, firstScreen, stopFirst := newHost()
		time.Sleep(questionPoll / 2)
		second, secondScreen, stopSecond := newHost()
		defer stopSecond()
		asked, err := first.calls.Queue.Ask(t.Context(), consent.Question{Kind: "other", Text: "May it?", Schema: []byte(`{"type":"object"}`), Owner: "o", Group: "g"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*questionPoll + questionPoll*7/10) // the second host looks before the first one does
		if text := firstScreen(); !strings.Contains(text, "May it?") {
			t.Fatalf("got %s, want the question", text)
		}

		// Another program removes the entry of the first host, between two of its looks at it.
		if err := first.watchers.Leave(t.Context(), *first.self.Load()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(questionPoll / 3)
		synctest.Wait()
		if !second.shows() {
			t.Error("the second host has not taken its turn, which the test is about")
		}
		answered, err := (&callQuestion{second, asked}).answer(t.Context(), "y")
		if _, open := first.calls.Queue.Get(t.Context(), asked.ID); !answered || !errors.Is(err, errQuestionEnded) || open != nil {
			t.Errorf("got %v, %v, %v, want the answer of the second terminal refused, and the question open", answered, err, open)
		}
		time.Sleep(3 * questionPoll)
		synctest.Wait()
		if second.shows() || !first.shows() || strings.Contains(secondScreen(), "May it?") {
			t.Errorf("got %v, %v, %s, want questions at the first terminal alone", first.shows(), second.shows(), secondScreen())
		}
		if text := firstScreen(); !strings.Contains(text, "another program has removed the entry") {
			t.Errorf("got %s, want the removal reported", text)
		}

		stopFirst()
		time.Sleep(3 * questionPoll)
		if text := secondScreen(); !second.shows() || !strings.Contains(text, "May it?") {
			t.Errorf("got %s, want the question once the first host has ended", text)
		}
	})
}

func TestOnlyTheCodeIsYesToAQuestionThatWantsIt(t *testing.T) {
	t.Parallel()
	const prompt = "Start it? [the code for yes, N no, s shows the texts]"
	for typed, want := range map[string]struct {
		answer string
		asked  int
	}{
		"n\n": {terminal.No, 1}, "s\n": {"s", 1}, "y\nyes\n12345\n123456\n": {terminal.No, terminal.MaxYesNo},
	} {
		var words bytes.Buffer
		q := &userQuestions{main: &Main{IO: terminal.IO{Stdin: strings.NewReader(typed), Stderr: &words}}}
		got, err := q.askCode(t.Context(), nil, "", terminal.YesNo{Text: "Start it?", Options: []terminal.Option{showsTexts}})
		if asked := strings.Count(words.String(), prompt); got != want.answer || asked != want.asked || err != nil {
			t.Errorf("%q: got %q, %v, asked %d times, want %q, %d times\n%s", typed, got, err, asked, want.answer, want.asked, words.String())
		}
		if asked := want.asked == terminal.MaxYesNo; asked != strings.HasSuffix(words.String(), terminal.CountsAsNo+"\n") || asked != strings.Contains(words.String(), `found "y", want the code, s or n; the code has six digits`) {
			t.Errorf("%q: got %s", typed, words.String())
		}
	}
}
