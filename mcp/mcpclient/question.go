package mcpclient

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
)

// Question describes the question of the server that a handler answers. The contexts
// of Options.ElicitForm, ElicitURL, Sample and Roots, and those of the hooks in
// Options.Ask, carry it.
type Question struct {
	// Method is the one of the question, such as elicitation/create.
	Method string
	// Server is the server's own description of itself, which is not verified.
	Server mcp.Implementation
	// Key is the server's name for the question within the call that it belongs
	// to. It is empty in the session era, whose questions have none.
	Key string
}

type questionKey struct{}

// QuestionFrom returns the question that ctx belongs to, and false outside of a
// handler that answers one.
func QuestionFrom(ctx context.Context) (Question, bool) {
	q, ok := ctx.Value(questionKey{}).(Question)
	return q, ok
}

// InputRequiredError is the error of a call with ManualInput, in the stateless era,
// that requires input. Make the call again with WithInput.
type InputRequiredError struct {
	// Result holds the questions, and the state to send back.
	Result *mcp.InputRequiredResult
}

func (e *InputRequiredError) Error() string { return "the server requires input" }

// ManualInput leaves the rounds of a call in the stateless era to the caller: a call
// that needs input fails with an *InputRequiredError, and no handler is called.
// A user interface answers the questions in its own time and makes the same call
// again, with WithInput. In the session era, where calls cannot be left open, it
// concerns the URL elicitations that a server of 2025-11-25 requires: they are an *mcp.Error of
// CodeURLElicitationRequired.
func ManualInput() CallOption {
	return func(o *callOptions) { o.manual = true }
}

// WithInput makes a call again that required input. The input has the answers under the
// keys of their questions, and RequestState as the server sent it.
func WithInput(in mcp.InputResponseParams) CallOption {
	return func(o *callOptions) { o.input = &in }
}
