package main

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// call is a call of the upstream server. It continues while our client answers.
type call struct {
	questions chan question
	asked     *question     // sent to our client, and not answered yet
	done      chan struct{} // closed after the fields below are set
	result    *mcp.CallToolResult
	err       error
}

type question struct {
	mcp.InputRequest
	answer chan jsontext.Value
}

// relay forwards a call. The handler runs once for each question, and Park keeps the
// upstream call in between.
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

// begin starts the upstream call over a connection of its own, so that all questions on
// it belong to this call. It ends with ctx, the context of the parked value.
func begin(ctx context.Context, upstream mcpclient.Target, p *mcp.CallToolParams) (*call, error) {
	c := &call{questions: make(chan question), done: make(chan struct{})}
	up, err := mcpclient.Connect(ctx, upstream, &mcpclient.Options{
		ElicitForm: pass[mcp.ElicitParams, mcp.ElicitResult](c),
		Sample:     pass[mcp.CreateMessageParams, mcp.CreateMessageResult](c),
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

// pass returns a handler that has our client answer the questions of one kind.
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
