package mcpclient

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
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
func (c *Client) answerInput(p *callDeadline, d *dialect.Client, first *dialect.Request, in *mcp.InputRequiredResult, round int) (*dialect.Request, error) {
	switch {
	case !mayRequireInput[first.Method]:
		return nil, fmt.Errorf("invalid response: input_required is not a valid result of %s", first.Method)
	case len(in.InputRequests) == 0 && in.RequestState == nil:
		return nil, fmt.Errorf("invalid response: input_required with neither inputRequests nor requestState")
	case round >= c.opts.maxRounds():
		return nil, fmt.Errorf("the server still requires input after %d rounds", round)
	}
	again := mcp.InputResponseParams{RequestState: in.RequestState}
	if len(in.InputRequests) == 0 {
		if err := sleep(p.ctx, min(minInputPause<<min(round, 10), maxInputPause)); err != nil {
			return nil, err
		}
		return first.Again(again)
	}
	again.InputResponses = make(map[string]jsontext.Value, len(in.InputRequests))
	keys := slices.AppendSeq(make([]string, 0, len(in.InputRequests)), maps.Keys(in.InputRequests))
	slices.Sort(keys)
	for _, key := range keys {
		answer, err := c.answerQuestion(p.ctx, d, key, in.InputRequests[key])
		if err != nil {
			// The protocol cannot express a failed answer, so the call ends here.
			return nil, fmt.Errorf("input %.64q: %w", key, err)
		}
		again.InputResponses[key] = answer
	}
	return first.Again(again)
}

// Answer calls the handler of this client for a question and returns its encoded
// answer. It is for extensions whose messages contain questions. The key is that of the
// question, for QuestionFrom and errors.
func (c *Client) Answer(ctx context.Context, key string, q mcp.InputRequest) (jsontext.Value, error) {
	answer, err := c.answerQuestion(ctx, c.agreement().dialect, key, q)
	if err != nil {
		return nil, fmt.Errorf("input %.64q: %w", key, err)
	}
	return answer, nil
}

func (c *Client) answerQuestion(ctx context.Context, d *dialect.Client, key string, q mcp.InputRequest) (jsontext.Value, error) {
	switch q.Method {
	case mcp.MethodElicit, mcp.MethodCreateMessage, mcp.MethodRootsList:
	default:
		return nil, fmt.Errorf("invalid response: method %.64q: want one that a client answers, such as elicitation/create", q.Method)
	}
	result, err := c.answerRequest(ctx, d.Facts, key, q.Method, q.Params)
	if err != nil {
		return nil, err
	}
	return d.InputResponse(result)
}

// InputRequiredError is the error of a call with ManualInput that requires input, in the
// stateless era. Make the call again with WithInput.
type InputRequiredError struct {
	// Result holds the questions, and the state to send back.
	Result *mcp.InputRequiredResult
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
