package gateway

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/catalog"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/host/gateway/relay"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// handlers handle the requests for the features of one upstream.
type handlers struct{ *upstream }

// callTool returns the handler of a tool. Its calls use the given connection; nil stands for
// the one that serves the caller.
func (u handlers) callTool(entry catalog.Entry[mcp.Tool], on *link.Conn) mcpserver.ToolHandler {
	definition := headerDefinition(entry)
	return func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		return u.withRecord(ctx, host.ActionCall, entry.UpstreamName, func(d *host.Decision) (mcp.Result, error) {
			u.setArguments(d, p.Arguments)
			s, err := relay.DecodeRoundState(p.RequestState)
			if err != nil {
				return nil, err
			}
			policy, err := u.newPolicy(d, s)
			if err != nil {
				return nil, err
			}
			if entry.Verdict == host.Confirm {
				if err := u.confirm(ctx, policy, &s, entry, p); err != nil {
					return refusalResult(err)
				}
				mustRecord(d, "")
			}
			send := func(ctx context.Context, c *mcpclient.Client, opts ...mcpclient.CallOption) (mcp.Result, error) {
				if definition != nil {
					opts = append(opts, mcpclient.WithTool(definition))
				}
				return c.CallTool(ctx, entry.UpstreamName, p.Arguments, opts...)
			}
			result, err := u.relay.Send(ctx, &relay.Request{Tool: entry.UpstreamName, State: s, Answers: p.InputResponses, On: on, Send: send, Policy: policy})
			if called, ok := result.(*mcp.CallToolResult); ok && err == nil {
				delete(called.Meta, host.MetaRefused) // only the host may set it
				u.source.ResultURIs(ctx).ClaimLinks(called.Content)
			}
			if link.WantsCredentials(err) {
				return refusalResult(u.credentialsError(err))
			}
			if isNotRecorded(err) {
				return refusalResult(err)
			}
			return result, err
		})
	}
}

// getPrompt returns the handler of a prompt. The connection is that of callTool.
func (u handlers) getPrompt(name string, on *link.Conn) mcpserver.PromptHandler {
	return func(ctx context.Context, p *mcp.GetPromptParams) (mcp.Result, error) {
		return u.withRecord(ctx, host.ActionGet, name, func(d *host.Decision) (mcp.Result, error) {
			result, err := u.send(ctx, d, p.InputResponseParams, on, func(ctx context.Context, c *mcpclient.Client, opts ...mcpclient.CallOption) (mcp.Result, error) {
				return c.GetPrompt(ctx, name, p.Arguments, opts...)
			})
			if prompt, ok := result.(*mcp.GetPromptResult); ok && err == nil {
				uris := u.source.ResultURIs(ctx)
				for i := range prompt.Messages {
					message := mcp.Contents{prompt.Messages[i].Content}
					uris.ClaimLinks(message)
					prompt.Messages[i].Content = message[0]
				}
			}
			return result, err
		})
	}
}

// promptOptions make the server leave the completion of a prompt's arguments to the upstream.
func (u handlers) promptOptions(name string, on *link.Conn) (opts []mcpserver.PromptOption) {
	if u.source.Catalog().HasCompletions() {
		opts = append(opts, mcpserver.CompleteWith(u.completer(mcp.PromptRef(name), on)))
	}
	return opts
}

// templateOptions make the server leave the completion of a template's variables to the upstream.
func (u handlers) templateOptions(uriTemplate string, on *link.Conn) (opts []mcpserver.ResourceOption) {
	if u.source.Catalog().HasCompletions() {
		opts = append(opts, mcpserver.CompleteWith(u.completer(mcp.ResourceRef(uriTemplate), on)))
	}
	return opts
}

func (u handlers) completer(ref mcp.Reference, on *link.Conn) mcpserver.RawCompleter {
	return func(ctx context.Context, p *mcp.CompleteParams) (*mcp.Completion, error) {
		asked := &mcp.CompleteParams{Ref: ref, Argument: p.Argument, Context: p.Context}
		var answer *mcp.Completion
		_, err := u.relay.Forward(ctx, on, func(ctx context.Context, c *mcpclient.Client, opts ...mcpclient.CallOption) (_ mcp.Result, err error) {
			answer, err = c.Complete(ctx, asked, opts...)
			return nil, err
		})
		return answer, err
	}
}

// finishRead returns a result with the URIs under which the caller reaches its contents, and
// with the name of the upstream. The resource was asked for under a URI, and has another one at
// the upstream if that is a qualified one.
func (u handlers) finishRead(ctx context.Context, uri, asked string, read *mcp.ReadResourceResult) (mcp.Result, error) {
	out := *read
	out.CacheScope = mcp.CachePrivate
	out.Contents = slices.Clone(read.Contents)
	uris := u.source.ResultURIs(ctx)
	for i := range out.Contents {
		if contents := &out.Contents[i]; contents.URI == uri {
			contents.URI = asked
		} else {
			contents.URI = uris.Claim(contents.URI)
		}
	}
	out.Meta = maps.Clone(read.Meta)
	if out.Meta == nil {
		out.Meta = make(mcp.Meta)
	}
	return &out, out.Meta.Set(host.MetaServer, u.Key)
}

// send sends a request that needs no consent.
func (u handlers) send(ctx context.Context, d *host.Decision, in mcp.InputResponseParams, on *link.Conn, send relay.SendFunc) (mcp.Result, error) {
	s, err := relay.DecodeRoundState(in.RequestState)
	if err != nil {
		return nil, err
	}
	policy, err := u.newPolicy(d, s)
	if err != nil {
		return nil, err
	}
	return u.relay.Send(ctx, &relay.Request{State: s, Answers: in.InputResponses, On: on, Send: send, Policy: policy})
}

// headerDefinition returns the definition of a tool as the upstream has it if arguments are
// repeated in headers, or nil. Connections of callers do not list tools, and would send no
// such headers.
//
// Spec: 2026-07-28 basic/transports#custom-headers-from-tool-parameters
func headerDefinition(entry catalog.Entry[mcp.Tool]) *mcp.Tool {
	if !bytes.Contains(entry.Definition.InputSchema, []byte("x-mcp-header")) {
		return nil
	}
	definition := entry.Definition
	definition.Name = entry.UpstreamName
	return &definition
}

// readResource is the handler of all resources and templates. It looks for the owner of the URI
// itself: the server may have found a template of an upstream that does not have the resource.
// The result is private to its principal: the upstream's cache scope applies to the principal
// that the upstream knows, which is the host.
func (g *Gateway) readResource(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
	r := mcpserver.From(ctx)
	u, owner := g.resourceOwner(ctx, r, p.URI)
	if u == nil {
		return nil, mcpserver.ErrNotFound
	}
	return u.withRecord(ctx, host.ActionRead, owner.URI, func(d *host.Decision) (mcp.Result, error) {
		result, err := handlers{u}.send(ctx, d, p.InputResponseParams, owner.On, func(ctx context.Context, client *mcpclient.Client, opts ...mcpclient.CallOption) (mcp.Result, error) {
			return client.ReadResource(ctx, owner.URI, opts...)
		})
		if isNotFound(err, owner.URI) {
			return nil, mcpserver.ErrNotFound
		}
		if read, ok := result.(*mcp.ReadResourceResult); ok && err == nil {
			return handlers{u}.finishRead(ctx, owner.URI, p.URI, read)
		}
		return result, err
	})
}
