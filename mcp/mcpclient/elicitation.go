package mcpclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
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
	p.RequestedSchema = dialect.RichForm(p.RequestedSchema)
	handler, check := c.opts.ElicitForm, checkForm
	if p.Mode == mcp.ElicitURL {
		handler, check = c.opts.ElicitURL, checkURL
	} else if c.opts.Ask.AllowSecretFields {
		check = func(*mcp.ElicitParams) error { return nil }
	}
	if err := check(p); err != nil {
		return nil, err
	}
	result, err := handler(ctx, p)
	switch {
	case err != nil:
		return nil, err
	case result == nil:
		return nil, errors.New("elicitation: the handler returned neither a result nor an error")
	case result.Action != mcp.ElicitAccept && result.Action != mcp.ElicitDecline && result.Action != mcp.ElicitCancel:
		return nil, fmt.Errorf("elicitation: the handler returned action %q: want accept, decline or cancel", result.Action)
	}
	return checkResult(result, p)
}

// checkResult adds the defaults of the schema to an accepted form and checks it. All
// other results have no content.
func checkResult(result *mcp.ElicitResult, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	out := *result
	if out.Action != mcp.ElicitAccept || p.Mode == mcp.ElicitURL {
		out.Content = nil
		return &out, nil
	}
	form, err := jsonschema.Compile(p.RequestedSchema, nil)
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: requestedSchema: %v", mcp.MethodElicit, err)
	}
	if out.Content, err = form.ApplyDefaults(out.Content); err != nil {
		return nil, fmt.Errorf("elicitation: answer of the handler: %w", err)
	}
	err = form.Validate(out.Content)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		invalid.Subject = "content"
	}
	if err != nil {
		return nil, fmt.Errorf("elicitation: answer of the handler: %w", err)
	}
	return &out, nil
}
