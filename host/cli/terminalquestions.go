package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/terminal"
)

// maxShownArguments limits the arguments of a question on the terminal, in bytes.
const maxShownArguments = 2000

var (
	// errQuestionEnded ends the wait for a line when the question was answered elsewhere, or has
	// expired.
	errQuestionEnded = errors.New("the question has ended")
	// errCallWaits ends the wait for a line when a call waits for an answer, which is more urgent.
	errCallWaits = errors.New("a call waits for an answer")
)

// terminalQuestion is a question that a host asks on its terminal.
type terminalQuestion interface {
	// title names the question in messages.
	title() string
	// show prints the question. waiting is the number of further ones.
	show(ctx context.Context, waiting int)
	// showUnasked prints the question for a user who cannot answer it here.
	showUnasked(ctx context.Context, waiting int)
	// prompt asks for an answer in one line, which says what a yes allows. text is the prompt
	// without the answers, and choice names them.
	prompt() string
	text() string
	choice() string
	// check returns errQuestionEnded or errCallWaits if the wait for an answer has to end. It may
	// run at the same time as the other methods.
	check(ctx context.Context) error
	// answer answers the question. It reports false if the question is to be asked again.
	answer(ctx context.Context, words string) (answered bool, err error)
}

// askOnTerminal asks the user one question after the other. When the input has ended, or the
// host runs in the background, it only shows them, and commands answer them.
func (q *userQuestions) askOnTerminal(ctx context.Context) {
	seen := make(map[string]bool)
	var asked terminalQuestion
	for named, input := false, true; ; {
		_, afterApproval := asked.(*approvalQuestion)
		var waiting int
		if asked, waiting = q.nextOnTerminal(ctx, seen, asked != nil && !afterApproval); asked == nil {
			return
		}
		if !input {
			release := q.main.HoldQuestions()
			asked.showUnasked(ctx, waiting)
			release()
			continue
		}
		release := q.main.HoldQuestions()
		q.main.DropTypeahead()
		asked.show(ctx, waiting)
		err := q.askOne(ctx, asked, named || q.main.LineAbandoned())
		release()
		switch {
		case errors.Is(err, errCallWaits):
			named = true
		case errors.Is(err, errQuestionEnded):
			q.main.Message("\n%s: answered elsewhere, or no longer waiting", asked.title())
			// A line that is typed now may have been meant for that question.
			named = true
		case ctx.Err() != nil:
			return
		case err != nil:
			input = false
			q.main.Message("\nthe input has ended: questions are shown here, and answered by commands")
			asked.showUnasked(ctx, waiting)
		default:
			named = false
		}
	}
}

// nextOnTerminal waits for a question: one about a call, or else about an approval. After a call it
// is the other way round, so that calls do not keep approvals from the user. It returns nil when ctx
// ends. waiting is the number of further ones.
func (q *userQuestions) nextOnTerminal(ctx context.Context, seen map[string]bool, afterCall bool) (asked terminalQuestion, waiting int) {
	var approval *approvalQuestion
	if afterCall && ctx.Err() == nil {
		approval = q.approvals.next()
	}
	if approval != nil {
		return q.asApproval(approval, seen), approval.further
	}
	call, waiting, ok := q.next(ctx, seen, func() bool {
		approval = q.approvals.next()
		return approval != nil
	})
	switch {
	case !ok:
		return nil, 0
	case approval != nil:
		return q.asApproval(approval, seen), approval.further
	}
	return q.asTerminalQuestion(call), waiting
}

// asApproval returns a question about an approval that is interrupted by calls that seen does not have.
func (q *userQuestions) asApproval(approval *approvalQuestion, seen map[string]bool) *approvalQuestion {
	approval.callWaits = func(ctx context.Context) bool {
		open, err := q.calls.Queue.List(ctx)
		_, _, waits := consent.Next(q.shownHere(open), seen)
		return err == nil && waits
	}
	return approval
}

// askOne asks a question that is shown until it is answered. If it has to be named, an answer
// begins with the name of the question. No question has the name of another one, so a line that
// was typed for a question that has ended answers none. It is for callers of HoldQuestions.
func (q *userQuestions) askOne(ctx context.Context, asked terminalQuestion, named bool) error {
	m := q.main
	q.shown++
	name := fmt.Sprintf("a%d", q.shown)
	untilEnded, stop := q.untilEnded(ctx, asked)
	defer stop()
	for {
		prompt := "\n" + asked.prompt()
		if named {
			prompt = "\nThe question before has ended.\n" + asked.text() + " Type " + name + " and then one of [" + asked.choice() + "]:"
		}
		line, err := m.AskLocked(untilEnded, "%s", prompt)
		if err != nil {
			return err
		}
		words, isNamed := strings.CutPrefix(strings.TrimSpace(line)+" ", name+" ")
		if named && !isNamed {
			m.Message("found %q, want %s first, which names the question", terminal.CleanLine(line), name)
			continue
		}
		if answered, err := asked.answer(ctx, strings.TrimSpace(words)); answered || err != nil {
			return err
		}
	}
}

// untilEnded returns a context that ends with the question.
func (q *userQuestions) untilEnded(ctx context.Context, asked terminalQuestion) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(questionPoll)
		defer tick.Stop()
		for {
			changed := q.calls.Queue.Changed()
			if err := asked.check(ctx); err != nil {
				cancel(err)
				return
			}
			select {
			case <-changed:
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() {
		cancel(io.EOF)
		<-done
	}
}

// callQuestion asks for consent to a call.
type callQuestion struct {
	*userQuestions
	asked consent.Question
}

func (c *callQuestion) title() string { return "call " + c.asked.ID }

func (c *callQuestion) show(ctx context.Context, waiting int) {
	code := c.userQuestions.show(ctx, c.asked)
	m := c.main
	m.showQuestion(&c.asked, maxShownArguments)
	m.Message("  elsewhere  %s answer %s yes --code %s", m.program(), c.asked.ID, code)
	if waiting > 0 {
		m.Message("  further questions wait: %d", waiting)
	}
}

func (c *callQuestion) showUnasked(ctx context.Context, waiting int) { c.show(ctx, waiting) }

func (c *callQuestion) prompt() string {
	return c.text() + " [" + c.allowing() + "; N no]"
}

// text names the tool, because text of servers may stand between the details and the prompt.
func (c *callQuestion) text() string {
	text := "Allow call " + c.asked.ID
	if tool := c.asked.Tool(); tool != "" {
		text += " of " + terminal.Fit(terminal.CleanLine(tool), max(20, c.main.Width()/2))
	}
	return text + "?"
}

func (c *callQuestion) choice() string { return c.allowing() + "; n no" }

// allowing names the answers that allow the call.
func (c *callQuestion) allowing() string {
	answers := "y once, s session, h hour, a always"
	if hasDetail(&c.asked, consent.DetailReadOnly) {
		answers += ", r read-only tools"
	}
	return answers
}

func (c *callQuestion) check(ctx context.Context) error {
	now, err := c.calls.Queue.Get(ctx, c.asked.ID)
	if errors.Is(err, consent.ErrUnknown) || errors.Is(err, consent.ErrAnswered) || err == nil && c.shownElsewhereFirst(&now) {
		return errQuestionEnded
	}
	return nil
}

func (c *callQuestion) answer(ctx context.Context, words string) (answered bool, err error) {
	m := c.main
	allow, scope, ok := scopeOf(words)
	if !ok {
		m.Message("found %q, want one of: %s, n no", terminal.CleanLine(words), c.allowing())
		return false, nil
	}
	a := consent.Answer{Content: consent.CallAnswer(allow, scope), By: m.userName(), How: host.GrantedByTerminal}
	if err := c.calls.Check(c.asked, a); err != nil {
		m.Message("%s", terminal.Clean(err.Error()))
		return false, nil
	}
	if err := c.check(ctx); err != nil {
		return true, err
	}
	switch err := c.calls.Answer(ctx, c.asked.ID, a); {
	case errors.Is(err, consent.ErrUnknown), errors.Is(err, consent.ErrAnswered):
		return true, errQuestionEnded
	case err != nil:
		m.Message("the answer has no effect: %s", terminal.Clean(err.Error()))
	}
	return true, nil
}

func hasDetail(asked *consent.Question, name string) bool {
	return slices.ContainsFunc(asked.Details, func(d consent.Detail) bool { return d.Name == name })
}

// showQuestion prints a question with its details. Details are cut at a number of bytes.
func (m *Main) showQuestion(asked *consent.Question, limit int) {
	m.Message("")
	m.PrintWrapped("%s %s", asked.ID, asked.Text)
	for _, d := range asked.Details {
		text := terminal.CleanLine(d.Text)
		if len(text) > limit {
			text = strings.ToValidUTF8(text[:limit], "") + "… (" + m.program() + " inbox " + asked.ID + " shows more)"
		}
		m.PrintWrapped("  %-10s %s", d.Name, text)
	}
}

// scopeOf returns how long an answer of one letter or word on the terminal holds.
func scopeOf(word string) (allow bool, scope string, ok bool) {
	switch strings.ToLower(word) {
	case "y", "yes", "once":
		return true, string(consent.Once), true
	case "s", "session":
		return true, string(consent.Session), true
	case "h", "hour", "1h":
		return true, "1h", true
	case "a", "always":
		return true, string(consent.Always), true
	case "r", "read-only":
		return true, string(consent.ReadOnly), true
	case "", "n", "no":
		return false, "", true
	}
	return false, "", false
}
