package mcpclient

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/backoff"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Bounds of the pause before a request is sent again if the server required input
// without any input request, only with state. The pause doubles each time.
const (
	minInputPause = 100 * time.Millisecond
	maxInputPause = 5 * time.Second
)

// mayRequireInput holds the methods whose result may be input_required.
var mayRequireInput = map[string]bool{
	mcp.MethodToolsCall:     true,
	mcp.MethodPromptsGet:    true,
	mcp.MethodResourcesRead: true,
}

// answerInput answers the questions of one round. It returns the next request, which has
// the params of the first one, the answers under the keys of their questions, and the
// unchanged state of the server.
//
// Spec: 2026-07-28 basic/patterns/mrtr
func (c *Client) answerInput(p *callDeadline, d *dialect.Client, first *dialect.Request, in *dialect.InputRequired, round int) (*dialect.Request, error) {
	switch {
	case !mayRequireInput[first.Method]:
		return nil, fmt.Errorf("invalid response: input_required is not a valid result of %s", first.Method)
	case len(in.Questions) == 0 && in.State == nil:
		return nil, fmt.Errorf("invalid response: input_required with neither inputRequests nor requestState")
	case round >= c.opts.maxRounds():
		return nil, fmt.Errorf("the server still requires input after %d rounds", round)
	}
	if len(in.Questions) == 0 {
		if err := sleep(p.ctx, backoff.Pause(round+1, minInputPause, maxInputPause)); err != nil {
			return nil, err
		}
	}
	return first.Next(in, func(q dialect.KeyedQuestion) (any, error) {
		return c.answerQuestion(p.ctx, d.Facts, q.Key, q.InputRequest)
	})
}

// Answer calls the handler of this client for a question and returns its encoded
// answer. It is for extensions whose messages contain questions. The key is that of the
// question, for QuestionFrom and errors.
func (c *Client) Answer(ctx context.Context, key string, q mcp.InputRequest) (jsontext.Value, error) {
	d := c.agreement().dialect
	result, err := c.answerQuestion(ctx, d.Facts, key, q)
	var answer jsontext.Value
	if err == nil {
		answer, err = d.InputResponse(result)
	}
	if err != nil {
		return nil, fmt.Errorf("input %.64q: %w", key, err)
	}
	return answer, nil
}

// answerQuestion answers one question of a round.
func (c *Client) answerQuestion(ctx context.Context, f *dialect.Facts, key string, q mcp.InputRequest) (any, error) {
	switch q.Method {
	case mcp.MethodElicit, mcp.MethodCreateMessage, mcp.MethodRootsList:
		return c.answerRequest(ctx, f, key, q.Method, q.Params)
	}
	return nil, fmt.Errorf("invalid response: method %.64q: want one that a client answers, such as elicitation/create", q.Method)
}

// InputRequiredError is the error of a call with ManualInput that requires input, in the
// stateless era. Make the call again with WithInput.
type InputRequiredError struct {
	// Result holds the questions, and the state to send back.
	Result *mcp.InputRequiredResult
}

// inputRequired returns the error of a call with ManualInput.
func inputRequired(in *dialect.InputRequired) error {
	result, err := in.Result()
	if err != nil {
		return invalid("%w", err)
	}
	return &InputRequiredError{result}
}

// Error returns that the server requires input.
func (e *InputRequiredError) Error() string { return "the server requires input" }

// ManualInput lets the caller answer the questions of a call in the stateless era: a
// call that requires input fails with an *InputRequiredError, and no handler is called.
// A user interface can answer later and make the same call again with WithInput.
//
// The session era cannot leave calls open. There, ManualInput applies only to URL
// elicitations that a server of 2025-11-25 requires before a call: the call fails with
// an *mcp.Error of CodeURLElicitationRequired.
func ManualInput() CallOption {
	return func(o *callOptions) { o.manual = true }
}

// WithInput makes a call again that required input. The input has the answers under the
// keys of their questions, and RequestState as the server sent it.
func WithInput(in mcp.InputResponseParams) CallOption {
	return func(o *callOptions) { o.input = &in }
}
