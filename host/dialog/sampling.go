package dialog

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

// textEnd is the line that ends a text of several lines.
const textEnd = "."

// Sampling asks the user for the answer to a sampling request, or for changes of the request or of what a
// model has answered.
func (d *Dialog) Sampling(ctx context.Context, asked *host.ServerQuestion) (*host.ServerAnswer, error) {
	a := &host.ServerAnswer{Action: mcp.ElicitAccept}
	err := d.editSampling(ctx, asked, a)
	if ended, ok := errors.AsType[*EndedError](err); ok {
		return &host.ServerAnswer{Action: ended.Action}, nil
	}
	return a, err
}

func (d *Dialog) editSampling(ctx context.Context, asked *host.ServerQuestion, a *host.ServerAnswer) error {
	d.IO.Message("(write in lines; a line with a single dot ends a text; %s or %s ends it without an answer)", declineWord, cancelWord)
	for {
		if err := d.editTexts(ctx, asked, a); err != nil {
			return err
		}
		question := "Send it to the server?"
		if asked.Review == host.ReviewRequest {
			question = "Let the model get it?"
		}
		if edit, err := d.review(ctx, question); err != nil || !edit {
			return err
		}
	}
}

// editTexts asks for the texts of an answer. A text that is ended at once stays as it is.
func (d *Dialog) editTexts(ctx context.Context, asked *host.ServerQuestion, a *host.ServerAnswer) error {
	if asked.Review != host.ReviewRequest {
		text, err := d.text(ctx, "The answer that the server gets:")
		if err == nil && (text != nil || asked.Review == host.ReviewNone && a.Text == nil) {
			a.Text = orEmpty(text)
		}
		return err
	}
	system, err := d.text(ctx, "The system prompt:")
	if err != nil {
		return err
	}
	if system != nil {
		a.SystemPrompt = system
	}
	texts := a.Texts
	if texts == nil {
		texts = asked.Texts()
	}
	for i := range texts {
		text, err := d.text(ctx, "A text of the messages, now %s:", terminal.Fit(terminal.CleanLine(terminal.Brief(texts[i])), max(20, d.IO.Width()/2)))
		if err != nil {
			return err
		}
		if text != nil {
			texts = slices.Clone(texts)
			texts[i] = *text
			a.Texts = texts
		}
	}
	return nil
}

// text asks for a text of several lines. It is nil if the user has written none.
func (d *Dialog) text(ctx context.Context, format string, args ...any) (*string, error) {
	d.IO.Message(format, args...)
	var lines []string
	for {
		line, err := d.rawLine(ctx, "|")
		line = strings.TrimRight(line, "\r\n")
		switch {
		case err != nil:
			return nil, err
		case line != textEnd:
			lines = append(lines, line)
		case len(lines) == 0:
			return nil, nil
		default:
			text := strings.Join(lines, "\n")
			return &text, nil
		}
	}
}

func orEmpty(text *string) *string {
	if text == nil {
		return new(string)
	}
	return text
}
