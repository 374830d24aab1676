package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// The answers to a question of yes or no.
const (
	yes = "y"
	no  = "n"
)

// maxYesNo is how often a question of yes or no is asked. A further answer that is neither
// counts as no.
const maxYesNo = 3

// yesNo is a question of yes or no. An empty line means no, except for defaultYes.
type yesNo struct {
	text       string
	defaultYes bool
	yesIs      string // what means yes in place of y; empty for y
	options    []option
}

// option is an answer besides yes and no.
type option struct{ letter, does string }

// prompt returns the question with its answers, such as: Start it? [y/N, s asks for each]
func (q *yesNo) prompt() string {
	answers := "y/N"
	switch {
	case q.yesIs != "":
		answers = q.yesIs + " for yes, N no"
	case q.defaultYes:
		answers = "Y/n"
	}
	for _, o := range q.options {
		answers += ", " + o.letter + " " + o.does
	}
	return q.text + " [" + answers + "]"
}

// answer returns the answer that a line has: yes, no or the letter of an option. With yesIs it
// returns no yes.
func (q *yesNo) answer(line string) (answer string, ok bool) {
	word := strings.ToLower(strings.TrimSpace(line))
	switch {
	case word == "" && q.defaultYes, word == yes, word == "yes":
		return yes, q.yesIs == ""
	case word == "", word == no, word == "no":
		return no, true
	}
	return word, slices.ContainsFunc(q.options, func(o option) bool { return o.letter == word })
}

// letters names the answers.
func (q *yesNo) letters() string {
	letters := cmp.Or(q.yesIs, yes)
	for _, o := range q.options {
		letters += ", " + o.letter
	}
	return letters + " or n"
}

// askYesNo asks a question until the answer is one of its answers, at most maxYesNo times. The
// error is io.EOF with the answer no when standard input has ended.
func (m *Main) askYesNo(ctx context.Context, q yesNo) (answer string, err error) {
	for range maxYesNo {
		line, err := m.ask(ctx, "%s", q.prompt())
		if err != nil {
			return no, err
		}
		if answer, ok := q.answer(line); ok {
			return answer, nil
		}
		m.message("found %q, want %s", cleanLine(line), q.letters())
	}
	m.message(countsAsNo)
	return no, nil
}

// countsAsNo is printed after the last of maxYesNo lines that were no answer.
const countsAsNo = "that counts as no"
