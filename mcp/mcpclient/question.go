package mcpclient

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
)

// Question says which question of the server a handler answers. It hangs on the
// context of Elicit, Visit, Sample and Roots, and of the hooks around them.
type Question struct {
	// Method is the one of the question, such as elicitation/create.
	Method string
	// Server is what the server says of itself, to show who asks. It may be a lie.
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

// InputRequiredError reports a call of the stateless era that needs input, to
// who asked for it with ManualInput. The call is made again with WithInput.
type InputRequiredError struct {
	// Result holds the questions, and the state to send back.
	Result *mcp.InputRequiredResult
}

func (e *InputRequiredError) Error() string { return "the server requires input" }

// ManualInput leaves the rounds of a call in the stateless era to the caller: a call
// that needs input fails with an *InputRequiredError, and no handler is called.
// A user interface answers the questions in its own time and makes the same call
// again, with WithInput. In the session era, where calls cannot be left open, it
// concerns visits that a server of 2025-11-25 requires: they are an *mcp.Error of
// CodeURLElicitationRequired.
func ManualInput() CallOption {
	return func(o *callOptions) { o.manual = true }
}

// WithInput makes a call again that needed input: with the answers under the keys
// of their questions, and the state as it came.
func WithInput(in mcp.InputResponseParams) CallOption {
	return func(o *callOptions) { o.input = &in }
}
