package gateway

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// forward sends one request in which the caller of ctx cannot be asked, over the given
// connection; nil stands for one that serves the caller. Like a call, it may have to be the only one on
// its connection, so that a question of the server is not asked in the call of another client. When
// ctx ends, the request is cancelled at the upstream.
func (u *upstream) forward(ctx context.Context, on *link.Conn, do sendFunc) (mcp.Result, error) {
	c := newSilentCall(ctx, mcpserver.From(ctx))
	l, err := u.lease(c, on)
	if err != nil {
		u.recordCall(ctx, err)
		return nil, u.translateError(c.Request, err)
	}
	opts := c.options(l)
	if c.Request.Session() == nil {
		opts = append(opts, mcpclient.ManualInput()) // otherwise any call on the connection would be asked
	}
	result, err := do(ctx, l.Client, opts...)
	err = l.EndError(err)
	u.recordCall(ctx, err)
	l.Release(err)
	if _, asks := errors.AsType[*mcpclient.InputRequiredError](err); asks {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: upstream %q requires input, and the client cannot be asked in this request", c.Request.Method(), u.Key)
	}
	return result, u.translateError(c.Request, err)
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
func (u *upstream) callTool(entry catalogEntry[mcp.Tool], on *link.Conn) mcpserver.ToolHandler {
	definition := headerDefinition(entry)
	return func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		return u.withRecord(ctx, host.ActionCall, entry.upstreamName, func(d *host.Decision) (mcp.Result, error) {
			u.setArguments(d, p.Arguments)
			var s relayState
			if err := s.decode(p.RequestState); err != nil {
				return nil, err
			}
			if entry.verdict == host.Confirm {
				if err := u.confirm(ctx, d, &s, entry, p); err != nil {
					return refusalResult(err)
				}
				mustRecord(d, "")
			}
			result, err := u.relayFrom(ctx, d, s, p.InputResponses, on, func(ctx context.Context, c *mcpclient.Client, opts ...mcpclient.CallOption) (mcp.Result, error) {
				if definition != nil {
					opts = append(opts, mcpclient.WithTool(definition))
				}
				return c.CallTool(ctx, entry.upstreamName, p.Arguments, opts...)
			})
			if called, ok := result.(*mcp.CallToolResult); ok && err == nil {
				delete(called.Meta, host.MetaRefused) // only the host may set it
				u.resultURIs(ctx).claimLinks(called.Content)
			}
			if errors.Is(err, mcpauth.ErrSignInRequired) {
				return refusalResult(fmt.Errorf("%w; \"fondaco auth login %s\" signs in", err, u.Key))
			}
			if isNotRecorded(err) {
				return refusalResult(err)
			}
			return result, err
		})
	}
}

// readResource is the handler of all resources and templates. It looks for the owner of the URI
// itself: the server may have found a template of an upstream that does not have the resource.
// The result is private to its principal: the upstream's cache scope applies to the principal
// that the upstream knows, which is the host.
func (g *Gateway) readResource(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
	r := mcpserver.From(ctx)
	owner, ok := g.resourceOwner(ctx, link.CallerOf(r), p.URI)
	if !ok {
		return nil, mcpserver.ErrNotFound
	}
	u := owner.upstream
	return u.withRecord(ctx, host.ActionRead, owner.uri, func(d *host.Decision) (mcp.Result, error) {
		result, err := u.relay(ctx, d, p.InputResponseParams, owner.on, func(ctx context.Context, client *mcpclient.Client, opts ...mcpclient.CallOption) (mcp.Result, error) {
			return client.ReadResource(ctx, owner.uri, opts...)
		})
		if isNotFound(err, owner.uri) {
			return nil, mcpserver.ErrNotFound
		}
		if read, ok := result.(*mcp.ReadResourceResult); ok && err == nil {
			return u.finishRead(ctx, owner.uri, p.URI, read)
		}
		return result, err
	})
}

// finishRead returns a result with the URIs under which the caller reaches its contents, and
// with the name of the upstream. The resource was asked for under a URI, and has another one at
// the upstream if that is a qualified one.
func (u *upstream) finishRead(ctx context.Context, uri, asked string, read *mcp.ReadResourceResult) (mcp.Result, error) {
	out := *read
	out.CacheScope = mcp.CachePrivate
	out.Contents = slices.Clone(read.Contents)
	uris := u.resultURIs(ctx)
	for i := range out.Contents {
		if contents := &out.Contents[i]; contents.URI == uri {
			contents.URI = asked
		} else {
			contents.URI = uris.claim(contents.URI)
		}
	}
	out.Meta = maps.Clone(read.Meta)
	if out.Meta == nil {
		out.Meta = make(mcp.Meta)
	}
	return &out, out.Meta.Set(host.MetaServer, u.Key)
}

// getPrompt returns the handler of a prompt. The connection is that of callTool.
func (u *upstream) getPrompt(name string, on *link.Conn) mcpserver.PromptHandler {
	return func(ctx context.Context, p *mcp.GetPromptParams) (mcp.Result, error) {
		return u.withRecord(ctx, host.ActionGet, name, func(d *host.Decision) (mcp.Result, error) {
			result, err := u.relay(ctx, d, p.InputResponseParams, on, func(ctx context.Context, c *mcpclient.Client, opts ...mcpclient.CallOption) (mcp.Result, error) {
				return c.GetPrompt(ctx, name, p.Arguments, opts...)
			})
			if prompt, ok := result.(*mcp.GetPromptResult); ok && err == nil {
				uris := u.resultURIs(ctx)
				for i := range prompt.Messages {
					message := mcp.Contents{prompt.Messages[i].Content}
					uris.claimLinks(message)
					prompt.Messages[i].Content = message[0]
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
			bounded := boundedError(e)
			bounded.Number = e.Number
			return bounded
		case mcp.CodeURLElicitationRequired:
			if err := u.elicitedURLs.addRequired(r.Session(), r.Owner(), e.Data); err != nil {
				return u.callerErrorOf(err)
			}
			named, err := u.relayedRequirement(e)
			if err != nil {
				return err
			}
			return boundedError(named)
		case mcp.CodeMissingCapability:
			if callerLacks(r, e.Data) {
				return boundedError(e)
			}
		}
	}
	return u.callerErrorOf(err)
}

// boundedError returns the error of an upstream for a link.Caller, within the limits of texts and
// features.
func boundedError(e *mcp.Error) *mcp.Error {
	bounded := &mcp.Error{Code: e.Code, Message: host.CutText(e.Message, maxText), Data: e.Data}
	if len(e.Data) > maxFeature {
		bounded.Data = nil
	}
	return bounded
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
	return link.CapabilitiesOf(r).Lacks(link.CapabilitiesFrom(need))
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
