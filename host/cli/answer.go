package cli

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/mcp"
)

var answerEntry = commandInfo{
	name: "answer", operands: "ID [yes|no|decline|cancel]", does: "answer a question of the inbox",
	about: `A yes lets one call through, or with --for also later identical calls: for the
session, for a time, until the grant is revoked, or, with any arguments, calls of
the server's read-only tools. While a host shows the question in a terminal or
on a desktop, --code has the code that it shows there.

What a server asks is answered on the terminal, or by --content or --text.
Decline says no to the server, and cancel that you do not decide.`,
	example: "answer 7 yes --for 1h --code 493817",
	make:    func() command { return new(answerCommand) },
}

type answerCommand struct {
	output
	scope   string
	code    string
	content string
	text    string
}

func (v *answerCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	f.StringVar(&v.scope, "for", "", "how `LONG` a yes holds: once, session, 1h or another time, always, read-only")
	f.StringVar(&v.code, "code", "", "the `CODE` that the host shows")
	f.StringVar(&v.content, "content", "", "the fields of a form as `JSON`, or @FILE with them; @- is standard input")
	f.StringVar(&v.text, "text", "", "the `TEXT` that a server gets in place of a model's answer, or @FILE with it; @- is standard input")
}

func (v *answerCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) == 0 || len(operands) > 2 {
		return usagef("want the number of a question, and yes or no; %s inbox lists them", m.program())
	}
	log, err := m.commandAudit()
	if err != nil {
		return err
	}
	q, err := m.openQuestions(log)
	if err != nil {
		return err
	}
	asked, err := q.calls.Queue.Get(ctx, operands[0])
	if err != nil {
		return questionError(err)
	}
	content, err := v.answerTo(ctx, m, &asked, operands[1:])
	if err != nil {
		return err
	}
	if err := q.answer(ctx, asked.ID, content, v.code); err != nil {
		return questionError(err)
	}
	m.Info("question %s is answered", asked.ID)
	return nil
}

// answerTo returns the content of the answer that the words and the flags give, or the user on the
// terminal.
func (v *answerCommand) answerTo(ctx context.Context, m *Main, asked *consent.Question, words []string) (jsontext.Value, error) {
	word := strings.ToLower(strings.Join(words, ""))
	if asked.OfServer() != nil {
		return v.answerToServer(ctx, m, asked, word)
	}
	allow := false
	switch word {
	case "yes", "y":
		allow = true
	case "no", "n":
		if v.scope != "" {
			return nil, usagef("found --for with no, want it with yes only")
		}
	default:
		return nil, usagef("found %q, want yes or no", word)
	}
	if v.content+v.text != "" {
		return nil, usagef("found --content or --text, want them with a question of a server only")
	}
	if _, _, err := consent.ParseScope(v.scope); err != nil {
		return nil, usagef("--for: %w", err)
	}
	return consent.CallAnswer(allow, v.scope), nil
}

// answerToServer is answerTo for a question of a server.
func (v *answerCommand) answerToServer(ctx context.Context, m *Main, asked *consent.Question, word string) (jsontext.Value, error) {
	a := &host.ServerAnswer{Action: mcp.ElicitAccept}
	switch {
	case v.scope != "":
		return nil, usagef("found --for, want it with the consent to a call only")
	case v.content != "" && v.text != "":
		return nil, usagef("found --content and --text, want the one that the question is about")
	case word == "decline", word == "no", word == "n":
		a.Action = mcp.ElicitDecline
	case word == "cancel":
		a.Action = mcp.ElicitCancel
	case word != "" && word != "yes" && word != "y":
		return nil, usagef("found %q, want yes, decline or cancel", word)
	case v.text != "":
		text, err := m.textOf("--text", v.text)
		if err != nil {
			return nil, err
		}
		a.Text = new(string(text))
	case v.content != "":
		var err error
		if a.Content, err = m.contentOf(v.content); err != nil {
			return nil, err
		}
	case m.Interactive && (word == "" || !asked.IsReview()):
		m.showServerDetails(asked)
		var err error
		if a, err = m.askServerAnswer(ctx, m.dialog(m.Ask), asked); err != nil {
			return nil, err
		}
	case asked.Kind == consent.KindForm:
		return nil, usagef("found no terminal and no --content, want the fields of the form as JSON; %s inbox %s shows them", m.program(), asked.ID)
	case asked.Kind == consent.KindSampling:
		return nil, usagef("found no terminal and no --text, want the answer that the server gets")
	case word == "":
		return nil, usagef("found no answer, want yes, decline or cancel")
	}
	return consent.ServerAnswerContent(a), nil
}

// maxContent limits the fields of a form that a command sends, in bytes, as the control socket does.
const maxContent = 64 << 10

// contentOf returns the JSON of --content.
func (m *Main) contentOf(text string) (jsontext.Value, error) {
	raw, err := m.textOf("--content", text)
	content := jsontext.Value(raw)
	if err == nil && (!content.IsValid() || content.Kind() != '{') {
		err = usagef("--content: found %.64q, want a JSON object with the fields of the form", content)
	}
	return content, err
}

// textOf returns the value of a flag as it is, or what the file has that it names.
func (m *Main) textOf(flag, text string) ([]byte, error) {
	path, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return []byte(text), nil
	}
	in := m.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, usagef("%s: %w", flag, err)
		}
		defer f.Close()
		in = f
	}
	content, err := io.ReadAll(io.LimitReader(in, maxContent+1))
	switch {
	case err != nil:
		return nil, usagef("%s: %w", flag, err)
	case len(content) > maxContent:
		return nil, usagef("%s: found more than %d bytes, want fewer", flag, maxContent)
	}
	return content, nil
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
	showing, err := q.codeHosts(ctx)
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
		return "", codedErrorf(exitConsent, "a host shows a code in its terminal, on the desktop, or in the inbox of its console; run the command again with --code and that code")
	}
	code, err := m.Ask(ctx, "The code that the host shows in its terminal, on the desktop, or in the inbox of its console:")
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
