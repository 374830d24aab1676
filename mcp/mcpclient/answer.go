package mcpclient

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// answer has one request of the server answered, in whatever form it came: as a
// request of the session era or as a question of the stateless one.
func (c *Client) answer(ctx context.Context, f *dialect.Facts, key, method string, params jsontext.Value) (any, error) {
	if err := c.pace(method); err != nil {
		return nil, err
	}
	c.answers.begin()
	defer c.answers.end()
	ctx = context.WithValue(ctx, questionKey{}, Question{Method: method, Server: c.asker(), Key: key})
	return c.middleware.receive(ctx, &Request{Method: method, Params: params, Inbound: true, client: c, facts: f})
}

// asker is what the server says of itself. It may ask before it has said so.
func (c *Client) asker() mcp.Implementation {
	c.mu.Lock()
	k := c.current
	c.mu.Unlock()
	if k == nil {
		return mcp.Implementation{}
	}
	if a := k.agreed.Load(); a != nil {
		return a.server
	}
	return mcp.Implementation{}
}

// route hands a message of the server to its handler. It is what all middleware
// for inbound messages is folded around.
func (c *Client) route(ctx context.Context, r *Request) (any, error) {
	params, ok := r.Params.(jsontext.Value)
	if !ok {
		return nil, fmt.Errorf("%s: middleware passed params of type %T: want the raw params", r.Method, r.Params)
	}
	if r.note {
		return nil, c.hear(r.Method, params)
	}
	switch r.Method {
	case mcp.MethodPing:
		return nil, nil
	case mcp.MethodElicit, mcp.MethodCreateMessage, mcp.MethodRootsList:
		return c.answerInputRequest(ctx, r.facts, mcp.InputRequest{Method: r.Method, Params: params})
	}
	if h := c.extended(r.Method); h != nil {
		return h(ctx, r)
	}
	return nil, mcp.Errorf(mcp.CodeMethodNotFound, "method %.64q: not found", r.Method)
}

// answerInputRequest calls the handler for a question of the server.
func (c *Client) answerInputRequest(ctx context.Context, f *dialect.Facts, q mcp.InputRequest) (any, error) {
	params, err := q.DecodeParams()
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%v", err)
	}
	switch p := params.(type) {
	case *mcp.ElicitParams:
		return c.elicit(ctx, f, p)
	case *mcp.CreateMessageParams:
		return c.sample(ctx, f, p)
	}
	return c.roots(ctx, f)
}

// decodeParams reads the params of a request of the server.
func decodeParams(method string, params jsontext.Value, out any) error {
	if len(params) == 0 {
		params = jsontext.Value("{}")
	}
	if err := json.Unmarshal(params, out); err != nil {
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: params: %v", method, err)
	}
	return nil
}

// entitled refuses what the server may not ask for: what was not declared.
func (c *Client) entitled(f *dialect.Facts, method string, params any) error {
	caps := c.opts.capabilities(f)
	if dialect.Missing(method, params, &caps) == nil {
		return nil
	}
	return mcp.Errorf(mcp.CodeInvalidParams, "%s: this client did not declare the capability for it", method)
}
