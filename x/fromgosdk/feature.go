package fromgosdk

import (
	"encoding/json/jsontext"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool registers a tool of go-sdk with a typed handler, as AddTool of go-sdk does. It panics
// where that does, and where mcpserver.Server.AddTool does. The arguments are valid under the
// input schema, unless the option mcpserver.AllowInvalidArguments leaves them to go-sdk.
func Tool[In, Out any](server *mcpserver.Server, tool *gosdk.Tool, handler gosdk.ToolHandlerFor[In, Out], opts ...mcpserver.ToolOption) {
	register(server, mcp.MethodToolsList, func(other *gosdk.Server) { gosdk.AddTool(other, tool, handler) }, singles.Tool, opts)
}

// RawTool registers a tool of go-sdk with a handler of raw arguments, as Server.AddTool of
// go-sdk does. Other than there, the arguments are valid under the input schema, unless there is
// the option mcpserver.AllowInvalidArguments, and the structured content has to be valid under
// the output schema.
func RawTool(server *mcpserver.Server, tool *gosdk.Tool, handler gosdk.ToolHandler, opts ...mcpserver.ToolOption) {
	register(server, mcp.MethodToolsList, func(other *gosdk.Server) { other.AddTool(tool, handler) }, singles.Tool, opts)
}

// Prompt registers a prompt of go-sdk. A completion of its arguments is an option of
// mcpserver, such as mcpserver.CompleteArg.
func Prompt(server *mcpserver.Server, prompt *gosdk.Prompt, handler gosdk.PromptHandler, opts ...mcpserver.PromptOption) {
	register(server, mcp.MethodPromptsList, func(other *gosdk.Server) { other.AddPrompt(prompt, handler) }, singles.Prompt, opts)
}

// Resource registers a resource of go-sdk. Call mcpserver.Server.Updated when it has changed.
func Resource(server *mcpserver.Server, resource *gosdk.Resource, handler gosdk.ResourceHandler, opts ...mcpserver.ResourceOption) {
	register(server, mcp.MethodResourcesList, func(other *gosdk.Server) { other.AddResource(resource, handler) }, singles.Resource, opts)
}

// Template registers a resource template of go-sdk.
func Template(server *mcpserver.Server, template *gosdk.ResourceTemplate, handler gosdk.ResourceHandler, opts ...mcpserver.ResourceOption) {
	register(server, mcp.MethodResourceTemplatesList, func(other *gosdk.Server) { other.AddResourceTemplate(template, handler) }, singles.Template, opts)
}

// singles are the servers of go-sdk that single features are registered in.
var singles = mirror.Singles[*foreign]{New: func() *foreign { return newForeign(newEmpty()) }}

func newEmpty() *gosdk.Server {
	return gosdk.NewServer(&gosdk.Implementation{Name: "fromgosdk", Version: "1"}, nil)
}

// register registers a feature under the definition that go-sdk lists for it.
func register[O any](server *mcpserver.Server, list string, add func(*gosdk.Server),
	to func(*mcpserver.Server, jsontext.Value, func(*foreign), ...O) error, opts []O,
) {
	def, err := definition(list, add)
	if err == nil {
		err = to(server, def, func(f *foreign) { add(f.other) }, opts...)
	}
	if err != nil {
		panic(fmt.Sprintf("fromgosdk: %v", err))
	}
}

// definition returns what go-sdk lists for a feature, which is added to a server that has
// nothing else.
func definition(list string, add func(*gosdk.Server)) (jsontext.Value, error) {
	other := newEmpty()
	add(other)
	listed, err := mirror.List(newForeign(other), list)
	if err != nil {
		return nil, err
	}
	if len(listed) != 1 {
		return nil, fmt.Errorf("%s: go-sdk lists %d features, want the one that was added", list, len(listed))
	}
	return listed[0], nil
}
