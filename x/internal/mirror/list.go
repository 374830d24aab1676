package mirror

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// list is one of the four lists of a server.
type list struct {
	method, entries, key string
	// register registers a feature, in place of the one that the mirror has registered before
	// if known is true.
	register func(m *Mirror, def jsontext.Value, known bool) error
	remove   func(s *mcpserver.Server, key string) bool
}

var lists = [4]list{
	{mcp.MethodToolsList, "tools", "name", (*Mirror).tool, (*mcpserver.Server).RemoveTool},
	{mcp.MethodPromptsList, "prompts", "name", (*Mirror).prompt, (*mcpserver.Server).RemovePrompt},
	{mcp.MethodResourcesList, "resources", "uri", (*Mirror).resource, (*mcpserver.Server).RemoveResource},
	{mcp.MethodResourceTemplatesList, "resourceTemplates", "uriTemplate", (*Mirror).template, (*mcpserver.Server).RemoveTemplate},
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

// Tool registers one tool by its definition, whose calls are forwarded.
func (m *Mirror) Tool(def jsontext.Value, opts ...mcpserver.ToolOption) error {
	return m.setTool(def, false, opts)
}

// Prompt registers one prompt by its definition.
func (m *Mirror) Prompt(def jsontext.Value, opts ...mcpserver.PromptOption) error {
	return m.setPrompt(def, false, opts)
}

// Resource registers one resource by its definition.
func (m *Mirror) Resource(def jsontext.Value, opts ...mcpserver.ResourceOption) error {
	return m.setResource(def, false, opts)
}

// Template registers one resource template by its definition.
func (m *Mirror) Template(def jsontext.Value, opts ...mcpserver.ResourceOption) error {
	return m.setTemplate(def, false, opts)
}

func (m *Mirror) tool(def jsontext.Value, known bool) error {
	var opts []mcpserver.ToolOption
	for _, o := range m.Options {
		opts = append(opts, o)
	}
	return m.setTool(def, known, opts)
}

func (m *Mirror) prompt(def jsontext.Value, known bool) error {
	var opts []mcpserver.PromptOption
	for _, o := range m.Options {
		opts = append(opts, o)
	}
	if m.Completes {
		opts = append(opts, mcpserver.CompleteWith(m.complete))
	}
	return m.setPrompt(def, known, opts)
}

func (m *Mirror) resource(def jsontext.Value, known bool) error {
	return m.setResource(def, known, m.resourceOptions())
}

func (m *Mirror) template(def jsontext.Value, known bool) error {
	opts := m.resourceOptions()
	if m.Completes {
		opts = append(opts, mcpserver.CompleteWith(m.complete))
	}
	return m.setTemplate(def, known, opts)
}

func (m *Mirror) resourceOptions() (opts []mcpserver.ResourceOption) {
	for _, o := range m.Options {
		opts = append(opts, o)
	}
	if m.Subscribes {
		opts = append(opts, mcpserver.WhileSubscribed(m.whileSubscribed))
	}
	return opts
}

func (m *Mirror) setTool(raw jsontext.Value, known bool, opts []mcpserver.ToolOption) error {
	var def mcp.Tool
	if err := json.Unmarshal(raw, &def); err != nil {
		return err
	}
	def.Execution = nil // calls are not forwarded as tasks
	return register(known,
		func() error { return m.server.SetTool(def, m.callTool, opts...) },
		func() { m.server.AddTool(def, m.callTool, opts...) })
}

func (m *Mirror) setPrompt(raw jsontext.Value, known bool, opts []mcpserver.PromptOption) error {
	var def mcp.Prompt
	if err := json.Unmarshal(raw, &def); err != nil {
		return err
	}
	return register(known,
		func() error { return m.server.SetPrompt(def, m.getPrompt, opts...) },
		func() { m.server.AddPrompt(def, m.getPrompt, opts...) })
}

func (m *Mirror) setResource(raw jsontext.Value, known bool, opts []mcpserver.ResourceOption) error {
	var def mcp.Resource
	if err := json.Unmarshal(raw, &def); err != nil {
		return err
	}
	return register(known,
		func() error { return m.server.SetResource(def, m.readResource, opts...) },
		func() { m.server.AddResource(def, m.readResource, opts...) })
}

func (m *Mirror) setTemplate(raw jsontext.Value, known bool, opts []mcpserver.ResourceOption) error {
	var def mcp.ResourceTemplate
	if err := json.Unmarshal(raw, &def); err != nil {
		return err
	}
	return register(known,
		func() error { return m.server.SetTemplate(def, m.readResource, opts...) },
		func() { m.server.AddTemplate(def, m.readResource, opts...) })
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
