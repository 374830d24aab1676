package gateway

import (
	"context"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// promptOptions make the server pass on a prompt as it came, and leave the check and the completion of
// its arguments to the upstream.
func (u *upstream) promptOptions(name string, on *link.Conn) []mcpserver.PromptOption {
	opts := []mcpserver.PromptOption{mcpserver.UncheckedArguments()}
	if !u.Settings.Validate {
		opts = append(opts, mcpserver.Proxied())
	}
	if u.source.Catalog().HasCompletions() {
		opts = append(opts, mcpserver.CompleteWith(u.completer(mcp.PromptRef(name), on)))
	}
	return opts
}

// templateOptions are promptOptions for a template and its variables.
func (u *upstream) templateOptions(uriTemplate string, on *link.Conn) []mcpserver.ResourceOption {
	opts := []mcpserver.ResourceOption{mcpserver.UncheckedVariables()}
	if !u.Settings.Validate {
		opts = append(opts, mcpserver.Proxied())
	}
	if u.source.Catalog().HasCompletions() {
		opts = append(opts, mcpserver.CompleteWith(u.completer(mcp.ResourceRef(uriTemplate), on)))
	}
	return opts
}

func (u *upstream) completer(ref mcp.Reference, on *link.Conn) mcpserver.RawCompleter {
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
