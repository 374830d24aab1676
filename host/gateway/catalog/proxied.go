package catalog

import (
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// The options of a feature make the server pass it on as it came, unless the user wants it validated.

func (p *SourceParams) toolOptions() (opts []mcpserver.ToolOption) {
	if !p.Settings.Validate {
		opts = append(opts, mcpserver.Proxied())
	}
	return opts
}

func (p *SourceParams) resourceOptions() (opts []mcpserver.ResourceOption) {
	if !p.Settings.Validate {
		opts = append(opts, mcpserver.Proxied())
	}
	return opts
}

func (p *SourceParams) templateOptions(uriTemplate string, on *link.Conn) []mcpserver.ResourceOption {
	return append(p.resourceOptions(), p.Handlers.TemplateOptions(uriTemplate, on)...)
}

func (p *SourceParams) promptOptions(name string, on *link.Conn) []mcpserver.PromptOption {
	opts := p.Handlers.PromptOptions(name, on)
	if !p.Settings.Validate {
		opts = append(opts, mcpserver.Proxied())
	}
	return opts
}
