package gateway

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// forward does one call for the caller of ctx that asks nothing, over the line
// that serves it. When ctx ends, because the caller cancelled or left, the
// upstream is told in the way of its era.
func (u *upstream) forward(ctx context.Context, _ host.Decision, what do) (mcp.Result, error) {
	c := direct(ctx, mcpserver.From(ctx))
	use, err := u.lease(ctx, callerOf(c.request), nil)
	if err != nil {
		return nil, u.translate(c.request, err)
	}
	result, err := what(ctx, use.client, c.passedOn(use)...)
	use.done(err)
	return result, u.translate(c.request, err)
}

func (u *upstream) callTool(o offer[mcp.Tool]) mcpserver.ToolHandler {
	return func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		return u.recorded(ctx, host.ActionCall, o.name, func(d host.Decision) (mcp.Result, error) {
			if o.verdict == host.Confirm {
				if err := confirm(ctx, u.Key, o.name, p.Arguments); err != nil {
					return refusal(err)
				}
			}
			result, err := u.relay(ctx, d, p.InputResponseParams, func(ctx context.Context, c *mcpclient.Client, opts ...mcpclient.CallOption) (mcp.Result, error) {
				return c.CallTool(ctx, o.name, p.Arguments, opts...)
			})
			if called, ok := result.(*mcp.CallToolResult); ok && err == nil {
				delete(called.Meta, host.MetaRefused) // which is ours to say
				u.gateway.links.note(callerOf(mcpserver.From(ctx)), u, called.Content)
			}
			if errors.Is(err, mcpauth.ErrSignInRequired) {
				return refusal(fmt.Errorf("%w; \"fondaco auth login %s\" signs in", err, u.Key))
			}
			return result, err
		})
	}
}

func (u *upstream) readResource(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
	return u.read(ctx, p.URI, func(ctx context.Context, d host.Decision, what do) (mcp.Result, error) {
		return u.relay(ctx, d, p.InputResponseParams, what)
	})
}

// read reads a resource. Nothing of it is for other principals to keep: what an
// upstream says of that it says of the one that it sees.
func (u *upstream) read(ctx context.Context, uri string, by func(context.Context, host.Decision, do) (mcp.Result, error)) (mcp.Result, error) {
	return u.recorded(ctx, host.ActionRead, uri, func(d host.Decision) (mcp.Result, error) {
		result, err := by(ctx, d, func(ctx context.Context, c *mcpclient.Client, opts ...mcpclient.CallOption) (mcp.Result, error) {
			return c.ReadResource(ctx, uri, opts...)
		})
		if isNotFound(err, uri) {
			return nil, mcpserver.ErrNotFound
		}
		if contents, ok := result.(*mcp.ReadResourceResult); ok && err == nil {
			contents.CacheScope = mcp.CachePrivate
		}
		return result, err
	})
}

func (u *upstream) getPrompt(name string) mcpserver.PromptHandler {
	return func(ctx context.Context, p *mcp.GetPromptParams) (mcp.Result, error) {
		return u.recorded(ctx, host.ActionGet, name, func(d host.Decision) (mcp.Result, error) {
			result, err := u.relay(ctx, d, p.InputResponseParams, func(ctx context.Context, c *mcpclient.Client, opts ...mcpclient.CallOption) (mcp.Result, error) {
				return c.GetPrompt(ctx, name, p.Arguments, opts...)
			})
			if prompt, ok := result.(*mcp.GetPromptResult); ok && err == nil {
				for _, m := range prompt.Messages {
					u.gateway.links.note(callerOf(mcpserver.From(ctx)), u, mcp.Contents{m.Content})
				}
			}
			return result, err
		})
	}
}

// translate turns the error of an upstream into that of the gateway. What the
// upstream says of the request is passed on; what it says of the message that
// carried the request is between it and us.
func (u *upstream) translate(r *mcpserver.Request, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*mcp.Error](err)
	if ok && e.Remote {
		switch e.Code {
		case mcp.CodeInvalidParams, mcp.CodeMethodNotFound, mcp.CodeResourceNotFound, mcp.CodeInternal, mcp.CodeRejected, mcp.CodeOther:
			return &mcp.Error{Code: e.Code, Number: e.Number, Message: e.Message, Data: e.Data}
		case mcp.CodeURLElicitationRequired:
			u.visits.noteAll(e.Data)
			return &mcp.Error{Code: e.Code, Message: e.Message, Data: e.Data}
		case mcp.CodeMissingCapability:
			if callerLacks(r, e.Data) {
				return &mcp.Error{Code: e.Code, Message: e.Message, Data: e.Data}
			}
		}
	}
	return fmt.Errorf("upstream %q: %w", u.Key, err)
}

// callerLacks reports whether a caller itself has not declared what an upstream
// requires. What the host does not relay it cannot declare either.
func callerLacks(r *mcpserver.Request, data jsontext.Value) bool {
	var missing mcp.MissingCapabilityData
	if json.Unmarshal(data, &missing) != nil {
		return false
	}
	need := missing.RequiredCapabilities
	for id := range need.Extensions {
		if _, declared := r.Capabilities().Extensions[id]; !declared {
			return true
		}
	}
	return abilitiesOf(r).lack(abilitiesIn(need))
}

// isNotFound reports whether an upstream says that a resource does not exist. In
// the stateless era that is an error of params which names the resource.
func isNotFound(err error, uri string) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Code != mcp.CodeInvalidParams {
		return ok && e.Code == mcp.CodeResourceNotFound
	}
	var data mcp.ResourceNotFoundData
	return json.Unmarshal(e.Data, &data) == nil && data.URI == uri
}
