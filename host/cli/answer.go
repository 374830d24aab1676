package cli

import (
	"context"
	"errors"
	"flag"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/control"
)

var answerEntry = commandInfo{
	name: "answer", operands: "ID yes|no", does: "answer a question of the inbox",
	about: `A yes lets one call through, or with --for also later identical calls: for the
session, for a time, until the grant is revoked, or, with any arguments, calls of
the server's read-only tools. While a host shows the question in a terminal or
on a desktop, --code has the code that it shows there.`,
	example: "answer 7 yes --for 1h --code 493817",
	make:    func() command { return new(answerCommand) },
}

type answerCommand struct {
	output
	scope string
	code  string
}

func (v *answerCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	f.StringVar(&v.scope, "for", "", "how `LONG` a yes holds: once, session, 1h or another time, always, read-only")
	f.StringVar(&v.code, "code", "", "the `CODE` that the host shows")
}

func (v *answerCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) != 2 {
		return usagef("want the number of a question and yes or no; %s inbox lists them", m.program())
	}
	id, allow := operands[0], false
	switch strings.ToLower(operands[1]) {
	case "yes", "y":
		allow = true
	case "no", "n":
		if v.scope != "" {
			return usagef("found --for with no, want it with yes only")
		}
	default:
		return usagef("found %q, want yes or no", operands[1])
	}
	if _, _, err := consent.ParseScope(v.scope); err != nil {
		return usagef("--for: %w", err)
	}
	log, err := m.commandAudit()
	if err != nil {
		return err
	}
	q, err := m.openQuestions(log)
	if err != nil {
		return err
	}
	if err := q.answer(ctx, id, consent.CallAnswer(allow, v.scope), v.code); err != nil {
		return questionError(err)
	}
	m.info("question %s is answered", id)
	return nil
}

// answer answers a question: by way of the hosts that show it, which check the code, or
// without one if no host shows questions.
func (q *userQuestions) answer(ctx context.Context, id string, content []byte, code string) error {
	asked, err := q.calls.Queue.Get(ctx, id)
	if err != nil {
		return err
	}
	given := consent.Answer{Content: content, By: q.main.userName(), How: host.GrantedUnattended}
	if err := q.calls.Check(asked, given); err != nil {
		return usagef("%w", err)
	}
	showing, err := q.watchers.List(ctx)
	switch {
	case err != nil:
		return err
	case len(showing) == 0 && asked.NeedsCode:
		return codedErrorf(exitConsent, "question %s: the host that has shown its code has ended; make the call again", id)
	case len(showing) == 0:
		return q.calls.Answer(ctx, id, given)
	}
	if code, err = q.main.wantCode(ctx, code); err != nil {
		return err
	}
	return q.main.atHosts(ctx, showing, func(ctx context.Context, c *control.Client) error {
		return c.Answer(ctx, control.Answer{ID: id, Content: content, Code: code})
	})
}

// wantCode returns the code that a host shows. Without one it asks on the terminal.
func (m *Main) wantCode(ctx context.Context, code string) (string, error) {
	if code != "" {
		return code, nil
	}
	if !m.Interactive {
		return "", codedErrorf(exitConsent, "a host shows a code in its terminal or on the desktop; run the command again with --code and that code")
	}
	code, err := m.ask(ctx, "The code that the host shows in its terminal or on the desktop:")
	return strings.TrimSpace(code), inputError(err)
}

// inputError returns an error of reading the terminal.
func inputError(err error) error {
	if err == nil {
		return nil
	}
	return codedErrorf(exitConsent, "no code: %w", err)
}

// socketTime limits the time for an answer of a host that checks a code, and that may show a
// notification first.
const socketTime = 10 * time.Second

// atHosts calls do with the hosts that show questions, until one of them accepts the code.
func (m *Main) atHosts(ctx context.Context, showing []consent.Watcher, do func(context.Context, *control.Client) error) error {
	var failed error
	for _, w := range showing {
		if w.Socket == "" {
			continue // it has its own terminal only
		}
		ctx, cancel := context.WithTimeout(ctx, socketTime)
		err := do(ctx, control.NewClient(w.Socket))
		cancel()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, control.ErrCode):
			failed = &codedError{exitConsent, err}
		case failed == nil:
			failed = codedErrorf(exitConsent, "the host with process ID %d: %w", w.PID, err)
		}
	}
	if failed == nil {
		return codedErrorf(exitConsent, "want the answer in the terminal of the host with process ID %d", showing[0].PID)
	}
	return failed
}
