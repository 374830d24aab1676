package mcpclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// elicit checks an elicitation of the server and calls its handler.
//
// Spec: 2026-07-28 client/elicitation
func (c *Client) elicit(ctx context.Context, f *dialect.Facts, p *mcp.ElicitParams) (any, error) {
	if c.opts.ElicitForm == nil && c.opts.ElicitURL == nil {
		return nil, mcp.Errorf(mcp.CodeMethodNotFound, "%s: this client does not support elicitation", mcp.MethodElicit)
	}
	if p.Mode != "" && p.Mode != mcp.ElicitForm && p.Mode != mcp.ElicitURL {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: mode %.32q: want form or url", mcp.MethodElicit, p.Mode)
	}
	if err := c.checkDeclared(f, mcp.MethodElicit, p); err != nil {
		return nil, err
	}
	if p.Mode == mcp.ElicitURL {
		return c.elicitURL(ctx, p)
	}
	return c.elicitForm(ctx, p)
}

func (c *Client) elicitURL(ctx context.Context, p *mcp.ElicitParams) (any, error) {
	if err := checkURL(p); err != nil {
		return nil, err
	}
	result, err := askUser(ctx, c.opts.ElicitURL, p)
	if err != nil {
		return nil, err
	}
	result.Content = nil
	return &result, nil
}

func (c *Client) elicitForm(ctx context.Context, p *mcp.ElicitParams) (any, error) {
	p.RequestedSchema = dialect.RichForm(p.RequestedSchema)
	form, err := c.formOf(p)
	if err != nil {
		return nil, err
	}
	result, err := askUser(ctx, c.opts.ElicitForm, p)
	if err != nil {
		return nil, err
	}
	if result.Action != mcp.ElicitAccept {
		result.Content = nil
		return &result, nil
	}
	if result.Content, err = form.complete(result.Content); err != nil {
		return nil, &unfitAnswer{err}
	}
	return &result, nil
}

// askUser calls the handler of an elicitation and returns a copy of its result.
func askUser(ctx context.Context, handler func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error), p *mcp.ElicitParams) (mcp.ElicitResult, error) {
	result, err := handler(ctx, p)
	switch {
	case err != nil:
		return mcp.ElicitResult{}, err
	case result == nil:
		return mcp.ElicitResult{}, errors.New("elicitation: the handler returned neither a result nor an error")
	case result.Action != mcp.ElicitAccept && result.Action != mcp.ElicitDecline && result.Action != mcp.ElicitCancel:
		return mcp.ElicitResult{}, fmt.Errorf("elicitation: the handler returned action %q: want accept, decline or cancel", result.Action)
	}
	return *result, nil
}
