package terminal

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// The answers to a question of yes or no.
const (
	Yes = "y"
	No  = "n"
)

// MaxYesNo is how often a question of yes or no is asked. A further answer that is neither
// counts as no.
const MaxYesNo = 3

// YesNo is a question of yes or no. An empty line means no.
type YesNo struct {
	Text    string
	YesIs   string // what means yes in place of y; empty for y
	Options []Option
}

// Option is an answer besides yes and no.
type Option struct{ Letter, Does string }

// Prompt returns the question with its answers, such as: Start it? [y/N, s asks for each]
func (q *YesNo) Prompt() string {
	answers := "y/N"
	if q.YesIs != "" {
		answers = q.YesIs + " for yes, N no"
	}
	for _, o := range q.Options {
		answers += ", " + o.Letter + " " + o.Does
	}
	return q.Text + " [" + answers + "]"
}

// Answer returns the answer that a line has: yes, no or the letter of an option. With YesIs it
// returns no yes.
func (q *YesNo) Answer(line string) (answer string, ok bool) {
	word := strings.ToLower(strings.TrimSpace(line))
	switch {
	case word == Yes, word == "yes":
		return Yes, q.YesIs == ""
	case word == "", word == No, word == "no":
		return No, true
	}
	return word, slices.ContainsFunc(q.Options, func(o Option) bool { return o.Letter == word })
}

// Letters names the answers.
func (q *YesNo) Letters() string {
	letters := cmp.Or(q.YesIs, Yes)
	for _, o := range q.Options {
		letters += ", " + o.Letter
	}
	return letters + " or n"
}

// AskYesNo asks a question until the answer is one of its answers, at most MaxYesNo times. The
// error is io.EOF with the answer no when standard input has ended.
func (t *IO) AskYesNo(ctx context.Context, q YesNo) (answer string, err error) {
	for range MaxYesNo {
		line, err := t.Ask(ctx, "%s", q.Prompt())
		if err != nil {
			return No, err
		}
		if answer, ok := q.Answer(line); ok {
			return answer, nil
		}
		t.Message("found %q, want %s", CleanLine(line), q.Letters())
	}
	t.Message(CountsAsNo)
	return No, nil
}

// CountsAsNo is printed after the last of MaxYesNo lines that were no answer.
const CountsAsNo = "that counts as no"
