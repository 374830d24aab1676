package mcpclient

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// answerRequest answers one question of the server. That is a request of the session
// era, or an input request of the stateless era, which has a key.
func (c *Client) answerRequest(ctx context.Context, f *dialect.Facts, key, method string, params jsontext.Value) (any, error) {
	if err := c.checkRate(method); err != nil {
		return nil, err
	}
	c.handlers.begin()
	defer c.handlers.end()
	ctx = &questionContext{ctx, method, key, c.agreement()}
	return c.handle(ctx, &Request{Method: method, Params: params, Inbound: true, client: c, facts: f})
}

// route calls the handler of a message of the server. It is the innermost handler of
// the middleware for inbound messages.
func (c *Client) route(ctx context.Context, r *Request) (any, error) {
	params, ok := r.Params.(jsontext.Value)
	if !ok {
		return nil, fmt.Errorf("%s: middleware passed params of type %T: want the raw params", r.Method, r.Params)
	}
	if r.notification {
		return nil, c.handleNotification(r.Method, params)
	}
	switch r.Method {
	case mcp.MethodPing:
		return nil, nil
	case mcp.MethodElicit, mcp.MethodCreateMessage, mcp.MethodRootsList:
		return c.answerInputRequest(ctx, r.facts, mcp.InputRequest{Method: r.Method, Params: params})
	}
	if h := c.extensionHandler(r.Method); h != nil {
		return h(ctx, r)
	}
	return nil, mcp.Errorf(mcp.CodeMethodNotFound, "method %.64q: not found", r.Method)
}

// answerInputRequest decodes a question of the server and calls its handler.
func (c *Client) answerInputRequest(ctx context.Context, f *dialect.Facts, q mcp.InputRequest) (any, error) {
	params, err := dialect.DecodeQuestion(q)
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

// decodeParams decodes the params of a request of the server into out.
func decodeParams(method string, params jsontext.Value, out any) error {
	if len(params) == 0 {
		params = jsontext.Value("{}")
	}
	if err := json.Unmarshal(params, out); err != nil {
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: params: %v", method, err)
	}
	return nil
}

// checkDeclared refuses a question for which this client declared no capability.
func (c *Client) checkDeclared(f *dialect.Facts, method string, params any) error {
	if dialect.Missing(method, params, c.declared(f)) == nil {
		return nil
	}
	return mcp.Errorf(mcp.CodeInvalidParams, "%s: this client did not declare the capability for it", method)
}

// declared returns the capabilities of this client in a revision. It computes them once,
// unless an extension has a function that changes them. They are not modified.
func (c *Client) declared(f *dialect.Facts) *mcp.ClientCapabilities {
	if caps, ok := c.capabilities.Load(f); ok {
		return caps.(*mcp.ClientCapabilities)
	}
	caps := c.opts.capabilities(f)
	if !slices.ContainsFunc(c.opts.Extensions, func(e Extension) bool { return e.Capabilities != nil }) {
		c.capabilities.Store(f, &caps)
	}
	return &caps
}
