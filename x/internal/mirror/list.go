package mirror

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// list is one of the four lists of a server.
type list struct {
	method, entries, key string
	// register registers a feature, in place of the one that it has registered before
	// if known is true.
	register func(f *features, def jsontext.Value, known bool) error
	remove   func(s *mcpserver.Server, key string) bool
}

var lists = [4]list{
	{mcp.MethodToolsList, "tools", "name", (*features).tool, (*mcpserver.Server).RemoveTool},
	{mcp.MethodPromptsList, "prompts", "name", (*features).prompt, (*mcpserver.Server).RemovePrompt},
	{mcp.MethodResourcesList, "resources", "uri", (*features).resource, (*mcpserver.Server).RemoveResource},
	{mcp.MethodResourceTemplatesList, "resourceTemplates", "uriTemplate", (*features).template, (*mcpserver.Server).RemoveTemplate},
}

// maxPages is how many pages of one list are read.
const maxPages = 1000

// read returns all entries of a list. A server without the feature has none.
func (l *list) read(ctx context.Context, b *bridge) (all []jsontext.Value, err error) {
	var p mcp.ListParams
	for range maxPages {
		raw, err := b.list(ctx, l.method, &p)
		if mcp.CodeOf(err) == mcp.CodeMethodNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		page, next, err := l.page(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		p.Cursor = &next
	}
	return nil, fmt.Errorf("more than %d pages", maxPages)
}

// page returns the entries of one page and the cursor of the next page.
func (l *list) page(raw jsontext.Value) (entries []jsontext.Value, next string, err error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, "", err
	}
	if text, ok := members[l.entries]; ok {
		if err := json.Unmarshal(text, &entries); err != nil {
			return nil, "", err
		}
	}
	if text, ok := members["nextCursor"]; ok {
		err = json.Unmarshal(text, &next)
	}
	return entries, next, err
}

// keyOf returns what identifies an entry.
func (l *list) keyOf(def jsontext.Value) (key string, err error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(def, &members); err != nil {
		return "", fmt.Errorf("%s: %w", l.method, err)
	}
	if err := json.Unmarshal(members[l.key], &key); err != nil {
		return "", fmt.Errorf("%s: %s of an entry: %w", l.method, l.key, err)
	}
	return key, nil
}

func (f *features) tool(def jsontext.Value, known bool) error {
	var opts []mcpserver.ToolOption
	for _, o := range f.bridge.options.Features {
		opts = append(opts, o)
	}
	if !f.bridge.options.ValidateArguments {
		opts = append(opts, mcpserver.AllowInvalidArguments())
	}
	return f.setTool(def, known, opts)
}

func (f *features) prompt(def jsontext.Value, known bool) error {
	var opts []mcpserver.PromptOption
	for _, o := range f.bridge.options.Features {
		opts = append(opts, o)
	}
	if f.bridge.declared.Completions != nil {
		opts = append(opts, mcpserver.CompleteWith(f.complete))
	}
	return f.setPrompt(def, known, opts)
}

func (f *features) resource(def jsontext.Value, known bool) error {
	return f.setResource(def, known, f.resourceOptions())
}

func (f *features) template(def jsontext.Value, known bool) error {
	opts := f.resourceOptions()
	if f.bridge.declared.Completions != nil {
		opts = append(opts, mcpserver.CompleteWith(f.complete))
	}
	return f.setTemplate(def, known, opts)
}

func (f *features) resourceOptions() (opts []mcpserver.ResourceOption) {
	for _, o := range f.bridge.options.Features {
		opts = append(opts, o)
	}
	if r := f.bridge.declared.Resources; r != nil && r.Subscribe {
		opts = append(opts, mcpserver.WhileSubscribed(f.whileSubscribed))
	}
	return opts
}

func (f *features) setTool(raw jsontext.Value, known bool, opts []mcpserver.ToolOption) error {
	var def mcp.Tool
	if err := json.Unmarshal(raw, &def); err != nil {
		return err
	}
	def.Execution = nil // calls are not forwarded as tasks
	return register(known,
		func() error { return f.server.SetTool(def, f.callTool, opts...) },
		func() { f.server.AddTool(def, f.callTool, opts...) })
}

func (f *features) setPrompt(raw jsontext.Value, known bool, opts []mcpserver.PromptOption) error {
	var def mcp.Prompt
	if err := json.Unmarshal(raw, &def); err != nil {
		return err
	}
	return register(known,
		func() error { return f.server.SetPrompt(def, f.getPrompt, opts...) },
		func() { f.server.AddPrompt(def, f.getPrompt, opts...) })
}

func (f *features) setResource(raw jsontext.Value, known bool, opts []mcpserver.ResourceOption) error {
	var def mcp.Resource
	if err := json.Unmarshal(raw, &def); err != nil {
		return err
	}
	return register(known,
		func() error { return f.server.SetResource(def, f.readResource, opts...) },
		func() { f.server.AddResource(def, f.readResource, opts...) })
}

func (f *features) setTemplate(raw jsontext.Value, known bool, opts []mcpserver.ResourceOption) error {
	var def mcp.ResourceTemplate
	if err := json.Unmarshal(raw, &def); err != nil {
		return err
	}
	return register(known,
		func() error { return f.server.SetTemplate(def, f.readResource, opts...) },
		func() { f.server.AddTemplate(def, f.readResource, opts...) })
}

// register replaces a feature that is known, and adds one that is not. A feature of another
// owner is never replaced: add panics then, and register returns the panic as its error.
func register(known bool, set func() error, add func()) (err error) {
	if known {
		return set()
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	add()
	return nil
}
