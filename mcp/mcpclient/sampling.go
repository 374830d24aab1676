package mcpclient

import (
	"context"
	"errors"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// ErrRejected is the error to return from Options.Sample and its hooks in Options.Ask if
// the user rejects the request of the server.
//
// Spec: 2025-11-25 client/sampling#error-handling
var ErrRejected error = mcp.Errorf(mcp.CodeRejected, "User rejected sampling request")

// sample checks a sampling request of the server and calls its handler.
//
// Spec: 2026-07-28 client/sampling
func (c *Client) sample(ctx context.Context, f *dialect.Facts, p *mcp.CreateMessageParams) (any, error) {
	if c.opts.Sample == nil {
		return nil, mcp.Errorf(mcp.CodeMethodNotFound, "%s: this client does not support sampling", mcp.MethodCreateMessage)
	}
	if err := c.checkDeclared(f, mcp.MethodCreateMessage, p); err != nil {
		return nil, err
	}
	if err := dialect.CheckConversation(p); err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: %v", mcp.MethodCreateMessage, err)
	}
	if limit := c.opts.Ask.MaxTokens; limit > 0 {
		p.MaxTokens = min(p.MaxTokens, limit)
	}
	if c.opts.Ask.BeforeSample != nil {
		if err := c.opts.Ask.BeforeSample(ctx, p); err != nil {
			return nil, err
		}
	}
	result, err := c.opts.Sample(ctx, p)
	if err == nil && result == nil {
		err = errors.New("sampling: the handler returned neither a result nor an error")
	}
	if err == nil && c.opts.Ask.AfterSample != nil {
		err = c.opts.Ask.AfterSample(ctx, p, result)
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}
