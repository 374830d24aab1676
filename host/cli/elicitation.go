package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/dialog"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// elicitor answers elicitations of a server during a call, and sampling requests. Without a terminal it
// declines elicitations, or leaves them to the running host. A call that fails after a decline gets the exit
// code for missing consent.
type elicitor struct {
	to   *Main
	from *serverConn

	mu       sync.Mutex
	declined bool               // without a terminal, or by the user
	progress *terminal.Progress // hidden meanwhile; may be nil
}

// handle sets the handlers of questions. Sampling requests need somebody to answer them.
func (q *elicitor) handle(o *mcpclient.Options) {
	o.ElicitForm, o.ElicitURL = q.elicit, q.elicitURL
	if q.to.Interactive {
		o.Sample = q.sample
	}
}

func (q *elicitor) wereDeclined() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.declined
}

func (q *elicitor) during(w *terminal.Progress) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.progress = w
}

// begin hides the progress bar until end is called.
func (q *elicitor) begin() (end func()) {
	q.mu.Lock()
	w := q.progress
	q.mu.Unlock()
	if w == nil {
		return func() {}
	}
	w.Pause()
	return w.Resume
}

func (q *elicitor) decline() *mcp.ElicitResult {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.declined = true
	return &mcp.ElicitResult{Action: mcp.ElicitDecline}
}

// elicit asks for the fields of a form one after the other.
func (q *elicitor) elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return q.inDialog(p, "The server asks: ", func(d *dialog.Dialog) (*mcp.ElicitResult, error) { return d.Form(ctx, p) })
}

// elicitURL asks the user to open a URL. The URL is never opened without consent.
func (q *elicitor) elicitURL(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return q.inDialog(p, "The server asks you to open an address: ", func(d *dialog.Dialog) (*mcp.ElicitResult, error) { return d.URL(ctx, p) })
}

// inDialog shows an elicitation, and asks the user, or declines it without a terminal.
func (q *elicitor) inDialog(p *mcp.ElicitParams, asks string, ask func(*dialog.Dialog) (*mcp.ElicitResult, error)) (*mcp.ElicitResult, error) {
	defer q.begin()()
	m := q.to
	if q.from.statuses != nil {
		asks = "" // the host has written in front who asks
	}
	m.Message("\n%s", strings.Join(m.askedLines(asks, terminal.Clean(p.Message)), "\n"))
	if !m.Interactive {
		if p.Mode == mcp.ElicitURL {
			dialog.ShowAddress(&m.IO, p)
		}
		m.Message("there is no terminal to ask on, so the question is declined")
		return q.decline(), nil
	}
	result, err := ask(m.dialog(m.Ask))
	if err == nil && result.Action != mcp.ElicitAccept {
		q.decline()
	}
	return result, err
}

// dialog returns a dialog with the user, whose lines ask gets.
func (m *Main) dialog(ask func(ctx context.Context, format string, args ...any) (string, error)) *dialog.Dialog {
	return &dialog.Dialog{IO: &m.IO, Ask: ask, OpenLink: m.openLink}
}

// askedLines returns the message of a question behind words of the command or, without them, of a host, which has
// quoted it. A text of several lines, or that the terminal would break, has a mark in front of each.
func (m *Main) askedLines(asks, message string) []string {
	text := asks + message
	breaks := func(line string) bool { return !m.Fits(line) }
	if !m.Interactive || (asks == "" || !strings.Contains(message, "\n")) && !slices.ContainsFunc(strings.Split(text, "\n"), breaks) {
		return []string{text}
	}
	lines := m.MarkedLines(message)
	if asks != "" {
		lines = append([]string{strings.TrimSpace(asks)}, lines...)
	}
	return lines
}

// sample shows a sampling request, which the user answers in place of a model, or refuses.
func (q *elicitor) sample(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	defer q.begin()()
	m := q.to
	asked := &host.ServerQuestion{Sampling: p}
	details, err := consent.DetailsOf(asked)
	if err != nil {
		return nil, err
	}
	m.Message("\nThe server asks for the answer of a model, and you can give it")
	for _, line := range m.detailLines(&consent.Question{Details: details}) {
		m.Message("%s", line)
	}
	d := m.dialog(m.Ask)
	given := new(host.ServerAnswer)
	answer, err := d.Choose(ctx, "Answer it? [y write the answer, N decline]", "no", "no", "decline", "yes")
	if err == nil && answer == "yes" {
		given, err = d.Sampling(ctx, asked)
	}
	if _, ended := errors.AsType[*dialog.EndedError](err); ended || err == nil && given.Text == nil {
		q.decline()
		return nil, mcp.Errorf(mcp.CodeRejected, "%s: the user refused it", mcp.MethodCreateMessage)
	}
	if err != nil {
		return nil, err
	}
	return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.Contents{mcp.Text(*given.Text)}, Model: "user", StopReason: mcp.StopEndTurn}, nil
}
