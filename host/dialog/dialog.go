// Package dialog asks the user on a terminal what a server wants to know: the fields of a form, whether an address is
// opened, or what a model would answer. Texts of the server never begin a line, as words of the host do.
package dialog

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

// Dialog asks the user for the answer to a question of a server, in several lines. At each of them the user
// can decline or cancel.
type Dialog struct {
	// IO prints the messages between the questions.
	IO *terminal.IO
	// Ask asks the user for one line: IO.Ask, or IO.AskLocked in a question of the terminal.
	Ask func(ctx context.Context, format string, args ...any) (string, error)
	// OpenLink opens an address in the browser.
	OpenLink func(ctx context.Context, address string) error
}

// The words that end a dialog at any line, and the one that leaves out a field.
const (
	declineWord = "/decline"
	cancelWord  = "/cancel"
	noneWord    = "/none"
)

// EndedError reports that the user has ended a dialog without an answer.
type EndedError struct{ Action mcp.ElicitAction }

func (e *EndedError) Error() string { return "the user chose " + string(e.Action) }

// line asks for one line. The error is an *EndedError if the user ends the dialog, or the input has
// ended.
func (d *Dialog) line(ctx context.Context, format string, args ...any) (string, error) {
	line, err := d.rawLine(ctx, format, args...)
	return strings.TrimSpace(line), err
}

// rawLine is line with the spaces around it.
func (d *Dialog) rawLine(ctx context.Context, format string, args ...any) (string, error) {
	line, err := d.Ask(ctx, format, args...)
	switch word := strings.TrimSpace(line); {
	case errors.Is(err, io.EOF), err == nil && word == cancelWord:
		return "", &EndedError{mcp.ElicitCancel}
	case err == nil && word == declineWord:
		return "", &EndedError{mcp.ElicitDecline}
	}
	return line, err
}

// Choose asks until the answer is one of some words, or the first letter of one. An empty line is the answer
// empty, or none if that is "". After terminal.MaxYesNo other lines it is as if the user had cancelled. The
// error is an *EndedError if the user ends the dialog.
func (d *Dialog) Choose(ctx context.Context, question, empty string, words ...string) (string, error) {
	for range terminal.MaxYesNo {
		line, err := d.line(ctx, "%s", question)
		if err != nil {
			return "", err
		}
		if line == "" && empty != "" {
			return empty, nil
		}
		if i := slices.IndexFunc(words, func(w string) bool { return w[:1] == strings.ToLower(line) || w == strings.ToLower(line) }); i >= 0 {
			return words[i], nil
		}
		d.IO.Message("found %q, want one of %s", terminal.CleanLine(line), strings.Join(words, ", "))
	}
	d.IO.Message("that counts as cancel")
	return "", &EndedError{mcp.ElicitCancel}
}

// review asks whether what was filled in is sent, and reports whether the user edits it again instead. An empty line
// sends nothing: whoever presses Enter through the fields presses it once more.
func (d *Dialog) review(ctx context.Context, question string) (edit bool, err error) {
	answer, err := d.Choose(ctx, question+" [y send, e edit, d decline, c cancel]", "", "yes", "send", "edit", "decline", "no", "cancel")
	switch {
	case err != nil:
		return false, err
	case answer == "cancel":
		return false, &EndedError{mcp.ElicitCancel}
	case answer == "decline" || answer == "no":
		return false, &EndedError{mcp.ElicitDecline}
	}
	return answer == "edit", nil
}

// result returns the answer of a dialog that ended with err.
func result(content jsontext.Value, err error) (*mcp.ElicitResult, error) {
	if ended, ok := errors.AsType[*EndedError](err); ok {
		return &mcp.ElicitResult{Action: ended.Action}, nil
	}
	if err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}
