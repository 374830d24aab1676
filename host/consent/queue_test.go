package consent_test

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func question(owner, group string) consent.Question {
	return consent.Question{
		Kind: "colour", Text: "Which colour?", Owner: owner, Group: group,
		Schema: jsontext.Value(`{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]}},"required":["colour"]}`),
	}
}

func TestQueueTakesQuestionsOfAnyKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(mcpserver.MemoryStore)
		asking, answering := consent.NewQueue(store), consent.NewQueue(store) // of two processes
		q, err := asking.Ask(t.Context(), question("a", "g"))
		if err != nil || q.ID != "1" || q.Expires.Sub(q.Created) != 10*time.Minute {
			t.Fatalf("got %+v, %v, want its number and times", q, err)
		}
		if err := answering.Answer(t.Context(), "1", consent.Answer{Content: jsontext.Value(`{"colour":"green"}`)}, nil); err == nil || !strings.Contains(err.Error(), "colour") {
			t.Errorf("got %v, want an answer refused that the schema does not allow", err)
		}
		applied := false
		time.AfterFunc(time.Minute, func() {
			err := answering.Answer(t.Context(), "1", consent.Answer{Content: jsontext.Value(`{"colour":"red"}`), By: "ada", How: host.GrantedByCommand}, func(consent.Question, consent.Answer) error {
				time.Sleep(10 * time.Second)
				applied = true
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		a, err := asking.Wait(t.Context(), "1")
		if err != nil || string(a.Content) != `{"colour":"red"}` || a.By != "ada" || !applied {
			t.Errorf("got %+v, %v, applied %v, want the answer after it has taken effect", a, err, applied)
		}
		if open, err := asking.List(t.Context()); err != nil || len(open) != 0 {
			t.Errorf("got %v, %v, want nothing open", open, err)
		}
	})
}

// A host that has ended withdraws nothing.
func TestQuestionIsStoredUntilItExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(mcpserver.MemoryStore)
		asked := question("a", "g")
		asked.Expires = time.Now().Add(51 * time.Second)
		q, err := consent.NewQueue(store).Ask(t.Context(), asked)
		if err != nil || !q.Expires.Equal(asked.Expires) {
			t.Fatalf("got %+v, %v, want it until %v", q, err, asked.Expires)
		}
		for _, stored := range []int{1, 0} {
			if keys, err := store.List(t.Context(), "questions/q", "", 10); len(keys) != stored || err != nil {
				t.Errorf("got %q, %v, want %d questions", keys, err, stored)
			}
			time.Sleep(51 * time.Second)
		}
	})
}

func TestQuestionsOfOneOwnerLeaveThoseOfOthers(t *testing.T) {
	t.Parallel()
	queue := consent.NewQueue(new(mcpserver.MemoryStore))
	first, err := queue.Ask(t.Context(), question("quiet", "anonymous"))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range 40 { // each session may have 16
		for range 20 {
			if _, err := queue.Ask(t.Context(), question(fmt.Sprint("flood ", i), "anonymous")); errors.Is(err, consent.ErrTooMany) {
				refused++
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := queue.Get(t.Context(), first.ID); err != nil {
		t.Errorf("got %v, want the question of the other owner kept", err)
	}
	if _, err := queue.Ask(t.Context(), question("late", "anonymous")); err != nil {
		t.Errorf("got %v, want room for one who has asked nothing yet", err)
	}
	if _, err := queue.Ask(t.Context(), question("ada", "ada")); err != nil {
		t.Errorf("got %v, want room for another group", err)
	}
	open, err := queue.List(t.Context())
	if err != nil || len(open) > 258 || refused == 0 {
		t.Errorf("got %d questions, %d refused, %v, want at most 256 of the group", len(open), refused, err)
	}
}

func TestQuestionThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	q := question("a", "a")
	q.Details = []consent.Detail{{Name: "text", Text: strings.Repeat("x", 1<<20)}}
	if _, err := consent.NewQueue(new(mcpserver.MemoryStore)).Ask(t.Context(), q); err == nil {
		t.Error("want an error")
	}
}

func TestNumbersHaveOneForm(t *testing.T) {
	t.Parallel()
	queue := consent.NewQueue(new(mcpserver.MemoryStore))
	if _, err := queue.Ask(t.Context(), question("a", "a")); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"01", "0", "", "-1", "+1", "1 ", "last", "../1", "18446744073709551616"} {
		if _, err := queue.Get(t.Context(), id); !errors.Is(err, consent.ErrUnknown) {
			t.Errorf("%q: got %v, want no question", id, err)
		}
	}
}

func TestCodesHaveFewTries(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-220")
	synctest.Test(t, func(t *testing.T) {
		codes := consent.NewCodes(new(consent.WrongCodes))
		code := codes.Show("1")
		if codes.Show("1") != code || len(code) != 6 || codes.Show("2") == code && codes.Show("3") == code {
			t.Errorf("got %s, want six digits, the same as long as they are shown", code)
		}
		if !consent.IsCode(" "+code[:3]+"-"+code[3:]) || consent.IsCode(code[1:]) || consent.IsCode(code[1:]+"x") || consent.IsCode("") {
			t.Error("a code is not recognized by its form, or another text is")
		}
		wrong := "000000"
		if code == wrong {
			wrong = "000001"
		}
		for range 4 {
			if err := codes.Check("1", wrong); !errors.Is(err, consent.ErrWrongCode) {
				t.Errorf("got %v", err)
			}
		}
		if err := codes.Check("2", code); err == nil && codes.Show("2") != code {
			t.Error("the code of another question is right")
		}
		if err := codes.Check("1", code[:3]+" "+code[3:]); err != nil {
			t.Errorf("got %v, want the code right", err)
		}
		if err := codes.Check("1", code); err == nil {
			t.Error("the code is right a second time")
		}
		code = codes.Show("1")
		for range 5 {
			_ = codes.Check("1", wrong)
		}
		if err := codes.Check("1", code); !errors.Is(err, consent.ErrTooManyTries) && code != wrong {
			t.Errorf("got %v, want no code right after five wrong ones", err)
		}
		if codes.Show("1") != code {
			t.Error("a new code is shown, which gives new tries")
		}
		code = codes.Show("9")
		time.Sleep(10 * time.Minute)
		if err := codes.Check("9", code); err == nil {
			t.Error("the code is right after ten minutes")
		}
		if err := codes.Check("8", ""); !errors.Is(err, consent.ErrNoCode) {
			t.Errorf("got %v where no code is shown", err)
		}
	})
}

func TestOnlyCodesThatCanStillBeRightAreListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		codes := consent.NewCodes(new(consent.WrongCodes))
		check := func(want ...string) {
			t.Helper()
			var got []string
			for _, one := range codes.Listed(2) {
				got = append(got, one.Subject)
				if code := codes.Show(one.Subject); code != one.Text {
					t.Errorf("%s: got the code %s, want %s", one.Subject, one.Text, code)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		codes.Show("on the terminal alone")
		used := codes.ShowListed("used")
		check("used")
		if err := codes.Check("used", used); err != nil {
			t.Fatal(err)
		}
		check()
		codes.ShowListed("guessed")
		for range 5 {
			_ = codes.Check("guessed", "no code")
		}
		check()
		codes.ShowListed("old")
		time.Sleep(consent.QuestionTime / 2)
		codes.ShowListed("new")
		codes.ShowListed("newer")
		check("newer", "new")
		codes.ShowListed("old") // which makes it hold no longer
		check("old", "newer")
		time.Sleep(consent.QuestionTime / 2)
		check("newer", "new")
		time.Sleep(consent.QuestionTime / 2)
		check()
	})
}

func TestWrongCodesOfAllQuestionsAreLimitedTogether(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-220")
	synctest.Test(t, func(t *testing.T) {
		wrong := new(consent.WrongCodes)
		questions, commands := consent.NewCodes(wrong), consent.NewCodes(wrong)
		guesses := 0
		guess := func() error {
			guesses++
			codes, subject := questions, fmt.Sprint(guesses)
			if guesses%2 == 0 {
				codes = commands
			}
			codes.Show(subject)
			return codes.Check(subject, "no code")
		}
		for range 20 {
			if err := guess(); !errors.Is(err, consent.ErrWrongCode) {
				t.Fatalf("guess %d: got %v", guesses, err)
			}
		}
		refused := func() {
			t.Helper()
			for _, codes := range []*consent.Codes{questions, commands} {
				if err := codes.Check("mine", codes.Show("mine")); !errors.Is(err, consent.ErrTooManyTries) {
					t.Errorf("got %v after %d wrong codes, want none right", err, guesses)
				}
			}
		}
		for range 3 {
			refused()
			time.Sleep(30 * time.Minute)
			if err := guess(); !errors.Is(err, consent.ErrWrongCode) {
				t.Errorf("got %v half an hour later", err)
			}
		}
		refused()
		time.Sleep(30 * time.Minute)
		if err := questions.Check("mine", questions.Show("mine")); err != nil {
			t.Errorf("got %v for the right code half an hour later", err)
		}
		time.Sleep(24 * time.Hour)
		for range 20 {
			if err := guess(); !errors.Is(err, consent.ErrWrongCode) {
				t.Fatalf("got %v a day later", err)
			}
		}
		refused()
	})
}

func TestWatchersAreForgottenAfterAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		watchers := consent.NewWatchers(new(mcpserver.MemoryStore))
		w := consent.Watcher{ID: "x", Socket: "/run/s", PID: 7}
		if err := watchers.Announce(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Second)
		if all, err := watchers.List(t.Context()); err != nil || len(all) != 1 || all[0] != w {
			t.Errorf("got %v, %v, want it", all, err)
		}
		time.Sleep(time.Second)
		if all, err := watchers.List(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("got %v, %v, want none", all, err)
		}
	})
}

func TestOwnerWithManyQuestionsDoesNotHideThoseOfOthers(t *testing.T) {
	t.Parallel()
	var open []consent.Question
	for i, owner := range []string{"flood", "flood", "flood", "ada", "flood", "ada", "bob"} {
		open = append(open, consent.Question{ID: fmt.Sprint(i + 1), Owner: owner})
	}
	var order []string
	seen := make(map[string]bool)
	for {
		next, further, ok := consent.Next(open, seen)
		if !ok {
			break
		}
		if want := len(open) - len(seen) - 1; further != want {
			t.Errorf("question %s: got %d further ones, want %d", next.ID, further, want)
		}
		seen[next.ID] = true
		order = append(order, next.ID)
	}
	if want := []string{"1", "4", "7", "2", "6", "3", "5"}; !slices.Equal(order, want) {
		t.Errorf("got %q, want %q", order, want)
	}
}
