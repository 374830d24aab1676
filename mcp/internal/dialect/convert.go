package dialect

import (
	"github.com/fondaco/fondaco/mcp"
)

// convert converts a value of the newest shapes to the revision. It never
// modifies v: it copies what must change. It returns values of other types
// unchanged.
func (f *Facts) convert(v any) any {
	switch v := v.(type) {
	case *mcp.CallToolResult:
		return f.callToolResult(v)
	case *mcp.ListToolsResult:
		out := *v
		out.Tools = each(v.Tools, f.tool)
		f.cache(&out.Caching)
		return &out
	case *mcp.ListResourcesResult:
		out := *v
		out.Resources = each(v.Resources, f.resource)
		f.cache(&out.Caching)
		return &out
	case *mcp.ListResourceTemplatesResult:
		out := *v
		out.ResourceTemplates = each(v.ResourceTemplates, f.template)
		f.cache(&out.Caching)
		return &out
	case *mcp.ListPromptsResult:
		out := *v
		out.Prompts = each(v.Prompts, f.prompt)
		f.cache(&out.Caching)
		return &out
	case *mcp.ReadResourceResult:
		out := *v
		out.Contents = each(v.Contents, f.contents)
		f.cache(&out.Caching)
		return &out
	case *mcp.GetPromptResult:
		out := *v
		out.Messages = each(v.Messages, f.promptMessage)
		return &out
	case *mcp.DiscoverResult:
		out := *v
		out.Capabilities = f.capabilities(v.Capabilities)
		f.cache(&out.Caching)
		return &out
	case *mcp.InitializeResult:
		out := *v
		out.ServerInfo = f.implementation(v.ServerInfo)
		out.Capabilities = f.capabilities(v.Capabilities)
		return &out
	case *mcp.InitializeParams:
		out := *v
		out.ClientInfo = f.implementation(v.ClientInfo)
		out.Capabilities = f.clientCapabilities(v.Capabilities)
		return &out
	case *mcp.CompleteParams:
		out := *v
		if !f.Context {
			out.Context = nil
		}
		return &out
	case *mcp.ProgressParams:
		out := *v
		if !f.ProgressMessage {
			out.Message = ""
		}
		return &out
	case *mcp.ElicitParams:
		return f.elicit(v)
	case *mcp.CreateMessageParams:
		return f.createMessage(v)
	}
	return v
}

// cache sets or removes the caching hints of a copied result: the stateless era
// requires them, the session era does not have them.
func (f *Facts) cache(c *mcp.Caching) {
	switch {
	case !f.Envelope:
		*c = mcp.Caching{}
	case c.TTLMs == nil:
		*c = mcp.CacheFor(0, mcp.CachePrivate)
	case c.CacheScope == "":
		c.CacheScope = mcp.CachePrivate
	}
}

func (f *Facts) tool(t mcp.Tool) mcp.Tool {
	f.listed(&t.Title, &t.Icons, &t.Meta)
	if !f.ToolAnnotations {
		t.Annotations = nil
	}
	if !f.TaskSupport {
		t.Execution = nil
	}
	if !f.structures(t.OutputSchema) {
		t.OutputSchema = nil
	}
	t.InputSchema, t.OutputSchema = f.schema(t.InputSchema), f.schema(t.OutputSchema)
	return t
}

func (f *Facts) resource(r mcp.Resource) mcp.Resource {
	f.listed(&r.Title, &r.Icons, &r.Meta)
	r.Annotations = f.annotations(r.Annotations)
	return r
}

func (f *Facts) template(t mcp.ResourceTemplate) mcp.ResourceTemplate {
	f.listed(&t.Title, &t.Icons, &t.Meta)
	t.Annotations = f.annotations(t.Annotations)
	return t
}

func (f *Facts) prompt(p mcp.Prompt) mcp.Prompt {
	f.listed(&p.Title, &p.Icons, &p.Meta)
	if !f.Titles {
		p.Arguments = each(p.Arguments, func(a mcp.PromptArgument) mcp.PromptArgument {
			a.Title = ""
			return a
		})
	}
	return p
}

// listed removes the members that a definition in a list does not have in the
// revision.
func (f *Facts) listed(title *string, icons *[]mcp.Icon, meta *mcp.Meta) {
	if !f.Titles {
		*title = ""
	}
	if !f.Icons {
		*icons = nil
	}
	*meta = f.listedMeta(*meta)
}

func (f *Facts) listedMeta(m mcp.Meta) mcp.Meta {
	if !f.MetaOnListed {
		return nil
	}
	return cleanMeta(m)
}

func (f *Facts) implementation(i mcp.Implementation) mcp.Implementation {
	if !f.Titles {
		i.Title = ""
	}
	if !f.Icons {
		i.Description, i.WebsiteURL, i.Icons = "", "", nil
	}
	return i
}

func (f *Facts) capabilities(c mcp.ServerCapabilities) mcp.ServerCapabilities {
	if !f.Completions {
		c.Completions = nil
	}
	if !f.TaskSupport {
		c.Tasks = nil
	}
	return c
}

// clientCapabilities removes the capabilities that the revision does not have.
func (f *Facts) clientCapabilities(c mcp.ClientCapabilities) mcp.ClientCapabilities {
	if !f.ServerRequests[mcp.MethodElicit] && f.Era == SessionEra {
		c.Elicitation = nil
	}
	if !f.ElicitURL && c.Elicitation != nil {
		c.Elicitation = &mcp.ElicitationCapability{Extra: c.Elicitation.Extra}
	}
	if !f.SamplingTools && c.Sampling != nil {
		c.Sampling = &mcp.SamplingCapability{Extra: c.Sampling.Extra}
	}
	if !f.TaskSupport {
		c.Tasks = nil
	}
	return c
}

func each[T any](in []T, change func(T) T) []T {
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = change(v)
	}
	return out
}
