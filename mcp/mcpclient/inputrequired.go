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

// Pauses before a request that needs no input is made again.
const (
	leastInputPause = 100 * time.Millisecond
	mostInputPause  = 5 * time.Second
)

// mayRequireInput holds the requests that may be answered with input_required.
var mayRequireInput = map[string]bool{
	mcp.MethodToolsCall:     true,
	mcp.MethodPromptsGet:    true,
	mcp.MethodResourcesRead: true,
}

// answerInput answers the questions of one round and returns the request to make
// again: the params of the first, the answers under the keys of their questions, and
// the state of the server as it came.
//
// Spec: 2026-07-28 basic/patterns/mrtr
func (c *Client) answerInput(p *patience, d *dialect.Client, first *dialect.Request, in *mcp.InputRequiredResult, round int) (*dialect.Request, error) {
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
		if err := sleep(p.ctx, min(leastInputPause<<min(round, 10), mostInputPause)); err != nil {
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

// Answer has a question answered by the handlers of this client, as if a call had
// asked it, and returns the answer in the form in which it is sent. It is for
// extensions whose questions come by ways of their own.
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
	result, err := c.answer(ctx, d.Facts, key, q.Method, q.Params)
	if err != nil {
		return nil, err
	}
	return d.InputResponse(result)
}
