package main

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// call is one call of the server upstream. It goes on while our client answers.
type call struct {
	questions chan question
	asked     *question     // by us, and has no answer yet
	done      chan struct{} // closed when the fields below are set
	result    *mcp.CallToolResult
	err       error
}

type question struct {
	mcp.InputRequest
	answer chan jsontext.Value
}

// relay passes a call on. It runs once for each question, and Park keeps the call
// upstream in between.
func relay(upstream mcpclient.Target) mcpserver.ToolHandler {
	return func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		begin := func(ctx context.Context) (*call, error) { return begin(ctx, upstream, p) }
		c, err := mcpserver.Park(ctx, "upstream", begin, func(c *call) { <-c.done })
		if err != nil {
			return nil, err
		}
		if answer, ok := p.InputResponses["upstream"]; ok && c.asked != nil {
			c.asked.answer <- answer
			c.asked = nil
		}
		if c.asked == nil {
			select {
			case q := <-c.questions:
				c.asked = &q
			case <-c.done:
				return c.result, c.err
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		return &mcp.InputRequiredResult{InputRequests: map[string]mcp.InputRequest{"upstream": c.asked.InputRequest}}, nil
	}
}

// begin makes the call over a connection of its own, so that what is asked there
// belongs to it. It ends with ctx, which is the value's.
func begin(ctx context.Context, upstream mcpclient.Target, p *mcp.CallToolParams) (*call, error) {
	c := &call{questions: make(chan question), done: make(chan struct{})}
	up, err := mcpclient.Connect(ctx, upstream, &mcpclient.Options{
		Elicit: pass[mcp.ElicitParams, mcp.ElicitResult](c),
		Sample: pass[mcp.CreateMessageParams, mcp.CreateMessageResult](c),
	})
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(c.done)
		defer up.Close()
		c.result, c.err = up.CallTool(ctx, p.Name, p.Arguments)
	}()
	return c, nil
}

// pass has questions of one kind answered by our own client.
func pass[Params, Answer any](c *call) func(context.Context, *Params) (*Answer, error) {
	return func(ctx context.Context, p *Params) (*Answer, error) {
		params, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		asked, _ := mcpclient.QuestionFrom(ctx)
		q := question{mcp.InputRequest{Method: asked.Method, Params: params}, make(chan jsontext.Value, 1)}
		select {
		case c.questions <- q:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		select {
		case raw := <-q.answer:
			answer := new(Answer)
			return answer, json.Unmarshal(raw, answer)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
