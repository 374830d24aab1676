package gateway

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// clientFor returns the client that serves the caller of ctx. All callers share
// one so far.
func (u *upstream) clientFor(context.Context) (*mcpclient.Client, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.client == nil {
		return nil, errors.New("not connected")
	}
	return u.client, nil
}

// forward does one call for the caller of ctx. When ctx ends, because the caller
// cancelled or left, the upstream is told in the way of its era.
func forward[Result any](ctx context.Context, u *upstream, call func(*mcpclient.Client, ...mcpclient.CallOption) (Result, error)) (Result, error) {
	c, err := u.clientFor(ctx)
	var result Result
	if err == nil {
		result, err = call(c, passedOn(ctx)...)
	}
	return result, u.translate(err)
}

// passedOn are the options of a call that carry what belongs to its caller:
// metadata and trace context on the way up, progress on the way down.
func passedOn(ctx context.Context) []mcpclient.CallOption {
	return []mcpclient.CallOption{
		mcpclient.WithMeta(metaOf(mcpserver.From(ctx))),
		mcpclient.WithProgress(func(p mcp.ProgressParams) {
			mcpserver.Progress(ctx, p.Progress, p.Total, p.Message)
		}),
	}
}

func metaOf(r *mcpserver.Request) mcp.Meta {
	meta := make(mcp.Meta)
	for key, value := range r.Meta() {
		meta[key] = value
	}
	parent, state, baggage := r.Trace()
	for key, value := range map[string]string{mcp.MetaTraceparent: parent, mcp.MetaTracestate: state, mcp.MetaBaggage: baggage} {
		if value != "" {
			_ = meta.Set(key, value) // a string always encodes
		}
	}
	return meta
}

func (u *upstream) callTool(name string) mcpserver.ToolHandler {
	return func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		result, err := forward(ctx, u, func(c *mcpclient.Client, opts ...mcpclient.CallOption) (*mcp.CallToolResult, error) {
			return c.CallTool(ctx, name, p.Arguments, opts...)
		})
		return result, err
	}
}

func (u *upstream) readResource(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
	result, err := forward(ctx, u, func(c *mcpclient.Client, opts ...mcpclient.CallOption) (*mcp.ReadResourceResult, error) {
		return c.ReadResource(ctx, p.URI, opts...)
	})
	if isNotFound(err, p.URI) {
		return nil, mcpserver.ErrNotFound
	}
	return result, err
}

func (u *upstream) getPrompt(name string) mcpserver.PromptHandler {
	return func(ctx context.Context, p *mcp.GetPromptParams) (mcp.Result, error) {
		result, err := forward(ctx, u, func(c *mcpclient.Client, opts ...mcpclient.CallOption) (*mcp.GetPromptResult, error) {
			return c.GetPrompt(ctx, name, p.Arguments, opts...)
		})
		return result, err
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
