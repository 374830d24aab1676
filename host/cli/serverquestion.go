package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/dialog"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

// serverQuestion asks on the terminal what a server asks in a call whose client cannot show it.
type serverQuestion struct {
	callQuestion
	server *host.ServerQuestion
}

// asTerminalQuestion returns how a question of the queue is asked on the terminal.
func (q *userQuestions) asTerminalQuestion(asked consent.Question) terminalQuestion {
	call := callQuestion{q, asked}
	if server := asked.OfServer(); server != nil {
		return &serverQuestion{call, server}
	}
	return &call
}

func (s *serverQuestion) title() string { return "question " + s.asked.ID }

func (s *serverQuestion) show(ctx context.Context, waiting int) {
	code := s.userQuestions.show(ctx, s.asked)
	m := s.main
	m.showServerDetails(&s.asked)
	m.Message("  elsewhere  %s answer %s --code %s", m.program(), s.asked.ID, code)
	if waiting > 0 {
		m.Message("  further questions wait: %d", waiting)
	}
}

func (s *serverQuestion) showUnasked(ctx context.Context, waiting int) { s.show(ctx, waiting) }

func (s *serverQuestion) prompt() string { return s.text() + " [" + s.choice() + "; Enter later]" }

func (s *serverQuestion) text() string {
	return fmt.Sprintf("Answer question %s of the server %q?", s.asked.ID, s.server.Server)
}

func (s *serverQuestion) choice() string {
	return choices[s.asked.Kind] + ", d decline, c cancel"
}

// choices name what a yes does to a question of a server, and what else there is.
var choices = map[consent.Kind]string{
	consent.KindForm: "y fill it in", consent.KindURL: "y go on", consent.KindSampling: "y write the answer",
	consent.KindSamplingRequest: "y let the model get it, e edit", consent.KindSamplingReply: "y let the server get it, e edit",
}

// answer answers the question. Without an answer now, the question can be taken up by a command or in
// the console while its call waits.
func (s *serverQuestion) answer(ctx context.Context, words string) (answered bool, err error) {
	m := s.main
	ctx, stop := s.untilEnded(ctx, s)
	defer stop()
	a := &host.ServerAnswer{}
	switch word := strings.ToLower(words); word {
	case "":
		m.Message("later: %s answer %s", m.program(), s.asked.ID)
		return true, nil
	case "d", "decline", "n", "no":
		a.Action = mcp.ElicitDecline
	case "c", "cancel":
		a.Action = mcp.ElicitCancel
	case "y", "yes", "e", "edit":
		if s.asked.IsReview() && word[0] == 'y' {
			a.Action = mcp.ElicitAccept
			break
		}
		if a, err = m.askServerAnswer(ctx, m.dialog(m.AskLocked), &s.asked); err != nil {
			return true, err
		}
	default:
		m.Message("found %q, want one of: %s", terminal.CleanLine(words), s.choice())
		return false, nil
	}
	given := consent.Answer{Content: consent.ServerAnswerContent(a), By: m.userName(), How: host.GrantedByTerminal}
	if err := s.calls.Check(s.asked, given); err != nil {
		m.Message("%s", terminal.Clean(err.Error()))
		return false, nil
	}
	if err := s.check(ctx); err != nil {
		return true, err
	}
	switch err := s.calls.Answer(ctx, s.asked.ID, given); {
	case errors.Is(err, consent.ErrUnknown), errors.Is(err, consent.ErrAnswered):
		return true, errQuestionEnded
	case err != nil:
		m.Message("the answer has no effect: %s", terminal.Clean(err.Error()))
	}
	return true, nil
}

// askServerAnswer asks the user for the answer to a question of a server.
func (m *Main) askServerAnswer(ctx context.Context, d *dialog.Dialog, asked *consent.Question) (*host.ServerAnswer, error) {
	server := asked.OfServer()
	var answer *mcp.ElicitResult
	var err error
	switch asked.Kind {
	case consent.KindURL:
		answer, err = d.URL(ctx, server.Elicit)
	case consent.KindForm:
		answer, err = d.Form(ctx, server.Elicit)
	default:
		return d.Sampling(ctx, server)
	}
	if err != nil {
		return nil, err
	}
	return &host.ServerAnswer{Action: answer.Action, Content: answer.Content}, nil
}

// showServerDetails prints the question of a server with its details. Each line of a text of the server
// begins with a mark, also where the terminal would break it, so that it cannot pass for words of the host.
func (m *Main) showServerDetails(asked *consent.Question) {
	m.Message("")
	m.PrintWrapped("%s %s", asked.ID, asked.Text)
	if asked.Client != "" {
		m.PrintWrapped("  in a call of %s", asked.Client)
	}
	for _, line := range m.detailLines(asked) {
		m.Message("%s", line)
	}
}

// detailLines returns the details of a question, each line of a text with a mark in front if it has
// several.
func (m *Main) detailLines(asked *consent.Question) (lines []string) {
	for _, d := range asked.Details {
		if slices.Contains(unbrokenDetails, d.Name) {
			lines = append(lines, fmt.Sprintf("  %-10s %s", d.Name, terminal.CleanLine(d.Text)))
			continue
		}
		lines = append(lines, m.DetailLines(d.Name, terminal.Clean(d.Text))...)
	}
	if server := asked.OfServer(); asked.Kind == consent.KindForm && server != nil {
		for _, field := range dialog.FieldLines(server.Elicit) {
			lines = append(lines, m.DetailLines("field", field)...)
		}
	}
	return lines
}

// unbrokenDetails are those in words of the host, and the address, which has no spaces and is copied whole.
var unbrokenDetails = []string{consent.DetailWarning, consent.DetailHost, consent.DetailAddress, consent.DetailServerSees}
