package gateway

import (
	"bytes"
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

// forward sends one request in which the caller of ctx cannot be asked, over the given
// connection; nil stands for one that serves the caller. Like a call, it is alone on its
// connection where that matters: what the server asks in it must not be asked in the call of
// another client. When ctx ends, the request is cancelled at the upstream.
func (u *upstream) forward(ctx context.Context, on *connection, do sendFunc) (mcp.Result, error) {
	c := newDirectCall(ctx, mcpserver.From(ctx))
	c.silent = true
	l, err := u.lease(ctx, callerOf(c.request), c, on)
	if err != nil {
		u.recordCall(ctx, err)
		return nil, u.translateError(c.request, err)
	}
	opts := c.options(l)
	if c.request.Session() == nil {
		opts = append(opts, mcpclient.ManualInput()) // otherwise any call on the connection would be asked
	}
	result, err := do(ctx, l.client, opts...)
	u.recordCall(ctx, err)
	l.release(err)
	if _, asks := errors.AsType[*mcpclient.InputRequiredError](err); asks {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: upstream %q requires input, and the client cannot be asked in this request", c.request.Method(), u.Key)
	}
	return result, u.translateError(c.request, err)
}

// headerDefinition returns the definition of a tool as the upstream has it if arguments are
// repeated in headers, or nil. Connections of callers do not list tools, and would send no
// such headers.
//
// Spec: 2026-07-28 basic/transports#custom-headers-from-tool-parameters
func headerDefinition(entry catalogEntry[mcp.Tool]) *mcp.Tool {
	if !bytes.Contains(entry.definition.InputSchema, []byte("x-mcp-header")) {
		return nil
	}
	definition := entry.definition
	definition.Name = entry.upstreamName
	return &definition
}

// callTool returns the handler of a tool. Its calls use the given connection; nil stands for
// the one that serves the caller.
func (u *upstream) callTool(entry catalogEntry[mcp.Tool], on *connection) mcpserver.ToolHandler {
	definition := headerDefinition(entry)
	return func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		return u.withRecord(ctx, host.ActionCall, entry.upstreamName, func(d host.Decision) (mcp.Result, error) {
			if entry.verdict == host.Confirm {
				if err := confirm(ctx, u.Key, entry.upstreamName, p.Arguments); err != nil {
					return refusalResult(err)
				}
			}
			result, err := u.relay(ctx, d, p.InputResponseParams, on, func(ctx context.Context, c *mcpclient.Client, opts ...mcpclient.CallOption) (mcp.Result, error) {
				if definition != nil {
					opts = append(opts, mcpclient.WithTool(definition))
				}
				return c.CallTool(ctx, entry.upstreamName, p.Arguments, opts...)
			})
			if called, ok := result.(*mcp.CallToolResult); ok && err == nil {
				delete(called.Meta, host.MetaRefused) // only the host may set it
				u.gateway.resourceOwners.addContents(callerOf(mcpserver.From(ctx)), u, called.Content)
			}
			if errors.Is(err, mcpauth.ErrSignInRequired) {
				return refusalResult(fmt.Errorf("%w; \"fondaco auth login %s\" signs in", err, u.Key))
			}
			return result, err
		})
	}
}

// readResource returns the handler of resources and templates. The connection is that of
// callTool.
func (u *upstream) readResource(on *connection) mcpserver.ResourceHandler {
	return func(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
		return u.read(ctx, p.URI, func(ctx context.Context, d host.Decision, what sendFunc) (mcp.Result, error) {
			return u.relay(ctx, d, p.InputResponseParams, on, what)
		})
	}
}

// read reads a resource. The result is private to its principal: the upstream's cache
// scope applies to the principal that the upstream knows, which is the host.
func (u *upstream) read(ctx context.Context, uri string, by func(context.Context, host.Decision, sendFunc) (mcp.Result, error)) (mcp.Result, error) {
	return u.withRecord(ctx, host.ActionRead, uri, func(d host.Decision) (mcp.Result, error) {
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

// getPrompt returns the handler of a prompt. The connection is that of callTool.
func (u *upstream) getPrompt(name string, on *connection) mcpserver.PromptHandler {
	return func(ctx context.Context, p *mcp.GetPromptParams) (mcp.Result, error) {
		return u.withRecord(ctx, host.ActionGet, name, func(d host.Decision) (mcp.Result, error) {
			result, err := u.relay(ctx, d, p.InputResponseParams, on, func(ctx context.Context, c *mcpclient.Client, opts ...mcpclient.CallOption) (mcp.Result, error) {
				return c.GetPrompt(ctx, name, p.Arguments, opts...)
			})
			if prompt, ok := result.(*mcp.GetPromptResult); ok && err == nil {
				for _, m := range prompt.Messages {
					u.gateway.resourceOwners.addContents(callerOf(mcpserver.From(ctx)), u, mcp.Contents{m.Content})
				}
			}
			return result, err
		})
	}
}

// translateError turns an error of an upstream into an error of the gateway. Errors about
// the request are passed on. Errors about the message that carried it concern only the
// host and the upstream.
func (u *upstream) translateError(r *mcpserver.Request, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*mcp.Error](err)
	if ok && e.Remote {
		switch e.Code {
		case mcp.CodeInvalidParams, mcp.CodeMethodNotFound, mcp.CodeResourceNotFound, mcp.CodeInternal, mcp.CodeRejected, mcp.CodeOther:
			return &mcp.Error{Code: e.Code, Number: e.Number, Message: e.Message, Data: e.Data}
		case mcp.CodeURLElicitationRequired:
			u.elicitedURLs.addRequired(e.Data)
			return &mcp.Error{Code: e.Code, Message: e.Message, Data: e.Data}
		case mcp.CodeMissingCapability:
			if callerLacks(r, e.Data) {
				return &mcp.Error{Code: e.Code, Message: e.Message, Data: e.Data}
			}
		}
	}
	return u.callerErrorOf(err)
}

// callerLacks reports whether the caller has not declared a capability that the upstream
// requires. Capabilities that the host does not relay count as not declared by the host,
// not by the caller.
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
	return capabilitiesOf(r).lacks(capabilitiesFrom(need))
}

// isNotFound reports whether an upstream says that a resource does not exist. In the
// stateless era that is invalid params with data that names the resource.
func isNotFound(err error, uri string) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Code != mcp.CodeInvalidParams {
		return ok && e.Code == mcp.CodeResourceNotFound
	}
	var data mcp.ResourceNotFoundData
	return json.Unmarshal(e.Data, &data) == nil && data.URI == uri
}
