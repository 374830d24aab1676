package frommcpgo

import (
	jsonv1 "encoding/json"
	"encoding/json/jsontext"
	"fmt"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// Tool registers a tool of mcp-go. It panics where mcpserver.Server.AddTool does. Other than
// in mcp-go by default, the arguments are valid under the input schema, unless there is the
// option mcpserver.AllowInvalidArguments.
func Tool(server *mcpserver.Server, tool mcpgotypes.Tool, handler mcpgo.ToolHandlerFunc, opts ...mcpserver.ToolOption) {
	register(server, tool, func(other *mcpgo.MCPServer) { other.AddTool(tool, handler) }, singles.Tool, opts)
}

// Prompt registers a prompt of mcp-go. A completion of its arguments is an option of
// mcpserver, such as mcpserver.CompleteArg.
func Prompt(server *mcpserver.Server, prompt mcpgotypes.Prompt, handler mcpgo.PromptHandlerFunc, opts ...mcpserver.PromptOption) {
	register(server, prompt, func(other *mcpgo.MCPServer) { other.AddPrompt(prompt, handler) }, singles.Prompt, opts)
}

// Resource registers a resource of mcp-go. Call mcpserver.Server.Updated when it has changed.
func Resource(server *mcpserver.Server, resource mcpgotypes.Resource, handler mcpgo.ResourceHandlerFunc, opts ...mcpserver.ResourceOption) {
	register(server, resource, func(other *mcpgo.MCPServer) { other.AddResource(resource, handler) }, singles.Resource, opts)
}

// Template registers a resource template of mcp-go.
func Template(server *mcpserver.Server, template mcpgotypes.ResourceTemplate, handler mcpgo.ResourceTemplateHandlerFunc, opts ...mcpserver.ResourceOption) {
	register(server, template, func(other *mcpgo.MCPServer) { other.AddResourceTemplate(template, handler) }, singles.Template, opts)
}

// singles are the servers of mcp-go that single features are registered in.
var singles = mirror.Singles[*foreign]{New: func() *foreign {
	return &foreign{other: mcpgo.NewMCPServer("frommcpgo", "1")}
}}

// register registers a feature under its definition.
func register[O any](server *mcpserver.Server, def any, add func(*mcpgo.MCPServer),
	to func(*mcpserver.Server, jsontext.Value, func(*foreign), ...O) error, opts []O,
) {
	raw, err := encode(def)
	if err == nil {
		err = to(server, raw, func(f *foreign) { add(f.other) }, opts...)
	}
	if err != nil {
		panic(fmt.Sprintf("frommcpgo: %v", err))
	}
}

// encode encodes a value of mcp-go. The types of mcp-go have the tags of encoding/json version 1,
// whose omitempty leaves out numbers and booleans that are zero. Version 2 would send them, such
// as the temperature 0 for a request that has none.
func encode(v any) (jsontext.Value, error) {
	raw, err := jsonv1.Marshal(v)
	return raw, err
}
