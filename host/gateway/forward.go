package gateway

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// forward does one call for the caller of ctx, over the line that serves it. When
// ctx ends, because the caller cancelled or left, the upstream is told in the way
// of its era.
func forward[Result any](ctx context.Context, u *upstream, call func(*mcpclient.Client, ...mcpclient.CallOption) (Result, error)) (result Result, err error) {
	r := mcpserver.From(ctx)
	use, err := u.lease(ctx, callerOf(r))
	if err != nil {
		return result, u.translate(err)
	}
	result, err = call(use.client, passedOn(ctx, r, use)...)
	use.done(err)
	return result, u.translate(err)
}

// passedOn are the options of a call that carry what belongs to its caller:
// metadata on the way up, progress and log messages on the way down.
func passedOn(ctx context.Context, r *mcpserver.Request, use lease) []mcpclient.CallOption {
	opts := []mcpclient.CallOption{
		mcpclient.WithMeta(r.Meta()),
		mcpclient.WithProgress(func(p mcp.ProgressParams) {
			mcpserver.Progress(ctx, p.Progress, p.Total, p.Message)
		}),
	}
	level, wanted := r.LogLevel()
	if !wanted || !use.logsForOne() {
		return opts
	}
	use.wantLog(ctx, level)
	return append(opts, mcpclient.WithLogLevel(level), mcpclient.WithLog(func(m *mcp.LoggingMessageParams) {
		_ = mcpserver.RelayLog(ctx, m) // a message that makes no sense is nothing to fail for
	}))
}

func (u *upstream) callTool(o offer[mcp.Tool]) mcpserver.ToolHandler {
	return func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		return u.recorded(ctx, host.ActionCall, o.name, func() (mcp.Result, error) {
			if o.verdict == host.Confirm {
				if err := confirm(ctx, u.Key, o.name, p.Arguments); err != nil {
					return refusal(err)
				}
			}
			result, err := forward(ctx, u, func(c *mcpclient.Client, opts ...mcpclient.CallOption) (*mcp.CallToolResult, error) {
				return c.CallTool(ctx, o.name, p.Arguments, opts...)
			})
			if err != nil {
				return nil, err
			}
			delete(result.Meta, host.MetaRefused) // which is ours to say
			u.gateway.links.note(callerOf(mcpserver.From(ctx)), u, result.Content)
			return result, nil
		})
	}
}

// readResource reads a resource. Nothing of it is for other principals to keep:
// what an upstream says of that it says of the one that it sees.
func (u *upstream) readResource(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
	return u.recorded(ctx, host.ActionRead, p.URI, func() (mcp.Result, error) {
		result, err := forward(ctx, u, func(c *mcpclient.Client, opts ...mcpclient.CallOption) (*mcp.ReadResourceResult, error) {
			return c.ReadResource(ctx, p.URI, opts...)
		})
		switch {
		case isNotFound(err, p.URI):
			return nil, mcpserver.ErrNotFound
		case err != nil:
			return nil, err
		}
		result.CacheScope = mcp.CachePrivate
		return result, nil
	})
}

func (u *upstream) getPrompt(name string) mcpserver.PromptHandler {
	return func(ctx context.Context, p *mcp.GetPromptParams) (mcp.Result, error) {
		return u.recorded(ctx, host.ActionGet, name, func() (mcp.Result, error) {
			result, err := forward(ctx, u, func(c *mcpclient.Client, opts ...mcpclient.CallOption) (*mcp.GetPromptResult, error) {
				return c.GetPrompt(ctx, name, p.Arguments, opts...)
			})
			if err != nil {
				return nil, err
			}
			for _, m := range result.Messages {
				u.gateway.links.note(callerOf(mcpserver.From(ctx)), u, mcp.Contents{m.Content})
			}
			return result, nil
		})
	}
}

// translate turns the error of an upstream into that of the gateway. What the
// upstream says of the request is passed on; what it says of the message that
// carried the request is between it and us.
func (u *upstream) translate(err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*mcp.Error](err)
	if ok && e.Remote {
		switch e.Code {
		case mcp.CodeInvalidParams, mcp.CodeMethodNotFound, mcp.CodeResourceNotFound, mcp.CodeInternal, mcp.CodeRejected, mcp.CodeOther:
			return &mcp.Error{Code: e.Code, Number: e.Number, Message: e.Message, Data: e.Data}
		}
	}
	return fmt.Errorf("upstream %q: %w", u.Key, err)
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
