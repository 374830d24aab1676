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

// Pauses before a request is sent again whose input_required has only state.
const (
	minInputPause = 100 * time.Millisecond
	maxInputPause = 5 * time.Second
)

// mayRequireInput are the methods whose answer may be input_required.
var mayRequireInput = map[string]bool{
	mcp.MethodToolsCall:     true,
	mcp.MethodPromptsGet:    true,
	mcp.MethodResourcesRead: true,
}

// answerInput answers the questions of one round. It returns the request to send next:
// the params of the first request, the answers under the keys of their questions, and
// the state of the server unchanged.
//
// Spec: 2026-07-28 basic/patterns/mrtr
func (c *Client) answerInput(p *callDeadline, d *dialect.Client, first *dialect.Request, in *mcp.InputRequiredResult, round int) (*dialect.Request, error) {
	switch {
	case !mayRequireInput[first.Method]:
		return nil, fmt.Errorf("invalid response: input_required is no answer to %s", first.Method)
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
	for _, key := range slices.Sorted(maps.Keys(in.InputRequests)) {
		answer, err := c.answerQuestion(p.ctx, d, key, in.InputRequests[key])
		if err != nil {
			// The protocol has no form for an answer that failed: the call ends here.
			return nil, fmt.Errorf("input %.64q: %w", key, err)
		}
		again.InputResponses[key] = answer
	}
	return first.Again(again)
}

// Answer calls the handler of this client for a question and returns the answer in its
// form on the wire. It is for extensions that get questions in their own messages.
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
		return nil, fmt.Errorf("invalid response: %.64q is no question to a client", q.Method)
	}
	result, err := c.answerRequest(ctx, d.Facts, key, q.Method, q.Params)
	if err != nil {
		return nil, err
	}
	return d.InputResponse(result)
}
