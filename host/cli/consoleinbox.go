package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approvalscreen"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// approvalAge is after how long what waits for approval is read again although nothing says that
// it has changed: a program may have changed that is not started.
const approvalAge = 10 * time.Second

// Inbox implements console.InboxSource.
func (s *consoleSource) Inbox(ctx context.Context) console.Inbox {
	inbox := console.Inbox{SignIns: s.waitingSignIns()}
	q := s.host.questions
	if q == nil {
		return inbox
	}
	open, err := q.calls.Queue.List(ctx)
	inbox.CodesShown = q.watched(ctx)
	inConsole := q.showsInConsole()
	for i := range open {
		one := consoleQuestion(&open[i], inbox.CodesShown)
		if inConsole && !one.NeedsCode {
			one.Code = q.codes.Show(one.ID)
		}
		inbox.Questions = append(inbox.Questions, one)
	}
	if inConsole {
		inbox.Codes = q.listedCodes()
	}
	pending, failed := s.pendingApprovals(ctx)
	for _, one := range pending {
		inbox.Approvals = append(inbox.Approvals, s.consoleApproval(one))
	}
	if err = errors.Join(err, failed); err != nil {
		inbox.Problem = err.Error()
	}
	return inbox
}

// waitingSignIns returns the servers that wait for a sign-in or a key, as the page of each shows them.
func (s *consoleSource) waitingSignIns() (all []console.Server) {
	for _, status := range s.host.gateway.Status() {
		if status.WaitsForCredentials() {
			all = append(all, console.Server{Status: status, Command: s.host.mendingCommand(&status), SignIn: s.signIn(status.Key)})
		}
	}
	return all
}

func consoleQuestion(asked *consent.Question, watched bool) console.Question {
	q := console.Question{
		ID: asked.ID, Text: asked.Text, Client: asked.Client, Principal: asked.Principal, Created: asked.Created, Expires: asked.Expires,
		NeedsCode: asked.NeedsCode || watched, ReadOnly: hasDetail(asked, consent.DetailReadOnly),
	}
	q.Server = consoleServerQuestion(asked)
	for _, d := range asked.Details {
		q.Details = append(q.Details, console.Detail(d))
	}
	for _, f := range asked.Files {
		q.Files = append(q.Files, console.File{Name: f.Name, MIMEType: f.MIMEType, Bytes: f.Bytes, Kept: f.Kept})
	}
	return q
}

// consoleServerQuestion describes what a server asks, or returns nil for a call.
func consoleServerQuestion(asked *consent.Question) *console.ServerQuestion {
	server := asked.OfServer()
	if server == nil {
		return nil
	}
	q := new(console.ServerQuestion)
	switch asked.Kind {
	case consent.KindForm:
		q.Form, q.Secrets = server.Elicit.RequestedSchema, host.SecretFields(server.Elicit)
	case consent.KindURL:
		q.URL, q.Host = server.Elicit.URL, mcpclient.URLHost(server.Elicit)
	case consent.KindSamplingRequest:
		q.Prompt = &console.Prompt{System: server.Sampling.SystemPrompt, Texts: server.Texts()}
	case consent.KindSamplingReply:
		q.Answers, q.Reply = true, server.Reply.Content.Text()
	default:
		q.Answers = true
	}
	return q
}

// pendingApprovals returns what waits for approval. It is read again when it may have changed,
// because large files of programs may have to be read for it.
func (s *consoleSource) pendingApprovals(ctx context.Context) ([]*approvalQuestion, error) {
	if s.approvals == nil { // nothing needs one
		return nil, nil
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	version := s.approvals.version()
	if version == s.version && time.Since(s.read) < approvalAge {
		return s.pending, nil
	}
	pending, err := s.approvals.readStates(ctx)
	s.pending, s.version, s.read = pending, version, time.Now()
	if err != nil {
		s.version = "" // to read it again
	}
	return pending, err
}

// consoleApproval describes what waits, for a program with the words of the terminal.
func (s *consoleSource) consoleApproval(q *approvalQuestion) console.Approval {
	m := s.host.main
	a := console.Approval{ID: q.digest, Title: strings.Join(approvalscreen.Names(q.all), ", "), Command: m.approveCommand(q.name(), s.host.config)}
	if q.all[0].Server != nil {
		var text bytes.Buffer
		approvalscreen.ShowTexts(&terminal.IO{Stderr: &text, Env: m.Env}, q.all)
		a.Covers = strings.TrimSpace(text.String())
		return a
	}
	change := q.all[0].Change
	a.Version, a.Before = change.Version, change.OldVersion
	for i := range change.Definitions {
		d := &change.Definitions[i]
		a.Changes = append(a.Changes, console.Change{
			Kind: string(d.Kind), Change: string(d.Change), Name: d.Name, OldName: d.OldName, Claims: d.Annotations, Findings: d.Findings, Diff: d.Diff,
		})
	}
	return a
}

// File implements console.InboxSource.
func (s *consoleSource) File(ctx context.Context, question string, n int) ([]byte, error) {
	q := s.host.questions
	if q == nil {
		return nil, consent.ErrUnknown
	}
	return q.calls.Queue.File(ctx, question, n)
}

// Answer implements console.InboxSource. It is "fondaco answer", where a code is needed with the
// code that was typed in the browser: the console may be open for another program.
func (s *consoleSource) Answer(ctx context.Context, id string, given console.Answer) error {
	q := s.host.questions
	if q == nil {
		return consent.ErrUnknown
	}
	if _, _, err := consent.ParseScope(given.For); err != nil {
		return err
	}
	answer := control.Answer{ID: id, Content: consent.CallAnswer(given.Allow, given.For), Code: strings.TrimSpace(given.Code)}
	if given.Server != nil {
		answer.Content = consent.ServerAnswerContent(given.Server)
	}
	showing, err := q.otherHosts(ctx)
	switch {
	case err != nil:
		return err
	case len(showing) == 0:
		return q.answerFor(ctx, answer, true)
	case answer.Code == "":
		return control.ErrCode
	}
	return q.main.atHosts(ctx, showing, func(ctx context.Context, c *control.Client) error { return c.Answer(ctx, answer) })
}

// approval returns what waits under an id.
func (s *consoleSource) approval(ctx context.Context, id string) (*approvalQuestion, error) {
	if s.approvals == nil {
		return nil, errNotWaiting
	}
	pending, err := s.pendingApprovals(ctx)
	i := slices.IndexFunc(pending, func(one *approvalQuestion) bool { return one.digest == id })
	if i < 0 {
		return nil, errors.Join(errNotWaiting, err)
	}
	return pending[i], nil
}

var errNotWaiting = errors.New("this does not wait any more, or has changed; what waits now is below")

// ShowCode implements console.InboxSource.
func (s *consoleSource) ShowCode(ctx context.Context, id string) error {
	one, err := s.approval(ctx, id)
	if err != nil {
		return err
	}
	shown, err := s.showCode(ctx, intentOf(one.all))
	if err == nil && !shown {
		err = s.noCode(one)
	}
	return err
}

// Approve implements console.InboxSource. It has no answer without a code: the console runs nothing
// that the user has not approved at a terminal or on the desktop.
func (s *consoleSource) Approve(ctx context.Context, id, code string) error {
	one, err := s.approval(ctx, id)
	if err != nil {
		return err
	}
	q := s.host.questions
	shown, err := s.checkCode(ctx, intentOf(one.all), code)
	if err == nil && !shown {
		err = s.noCode(one)
	}
	if err != nil {
		return err
	}
	q.approvals.setAnswered(one.all, host.OutcomeDone) // before it no longer waits, as if it was answered on the terminal
	if err := s.host.approvePending(ctx, one.all, "by the user, in the console"); err != nil {
		q.approvals.setAnswered(one.all, "")
		return err
	}
	for _, name := range approvalscreen.Names(one.all) {
		s.host.gateway.Retry(name)
	}
	return nil
}

// noCode says how to approve where no code can be shown.
func (s *consoleSource) noCode(one *approvalQuestion) error {
	return fmt.Errorf("no terminal and no desktop can show a code; approve it with %s", s.host.main.approveCommand(one.name(), s.host.config))
}
