package fromgosdk

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool registers a tool of go-sdk with a typed handler, as AddTool of go-sdk does. It panics
// where that does, and where mcpserver.Server.AddTool does.
func Tool[In, Out any](server *mcpserver.Server, tool *gosdk.Tool, handler gosdk.ToolHandlerFor[In, Out], opts ...mcpserver.ToolOption) {
	register(server, mcp.MethodToolsList, func(other *gosdk.Server) { gosdk.AddTool(other, tool, handler) },
		func(m *mirror.Mirror, def jsontext.Value) error { return m.Tool(def, opts...) })
}

// RawTool registers a tool of go-sdk with a handler of raw arguments, as Server.AddTool of
// go-sdk does. Other than there, the arguments are valid under the input schema, and the
// structured content has to be valid under the output schema.
func RawTool(server *mcpserver.Server, tool *gosdk.Tool, handler gosdk.ToolHandler, opts ...mcpserver.ToolOption) {
	register(server, mcp.MethodToolsList, func(other *gosdk.Server) { other.AddTool(tool, handler) },
		func(m *mirror.Mirror, def jsontext.Value) error { return m.Tool(def, opts...) })
}

// Prompt registers a prompt of go-sdk. A completion of its arguments is an option of
// mcpserver, such as mcpserver.CompleteArg.
func Prompt(server *mcpserver.Server, prompt *gosdk.Prompt, handler gosdk.PromptHandler, opts ...mcpserver.PromptOption) {
	register(server, mcp.MethodPromptsList, func(other *gosdk.Server) { other.AddPrompt(prompt, handler) },
		func(m *mirror.Mirror, def jsontext.Value) error { return m.Prompt(def, opts...) })
}

// Resource registers a resource of go-sdk. Call mcpserver.Server.Updated when it has changed.
func Resource(server *mcpserver.Server, resource *gosdk.Resource, handler gosdk.ResourceHandler, opts ...mcpserver.ResourceOption) {
	register(server, mcp.MethodResourcesList, func(other *gosdk.Server) { other.AddResource(resource, handler) },
		func(m *mirror.Mirror, def jsontext.Value) error { return m.Resource(def, opts...) })
}

// Template registers a resource template of go-sdk.
func Template(server *mcpserver.Server, template *gosdk.ResourceTemplate, handler gosdk.ResourceHandler, opts ...mcpserver.ResourceOption) {
	register(server, mcp.MethodResourceTemplatesList, func(other *gosdk.Server) { other.AddResourceTemplate(template, handler) },
		func(m *mirror.Mirror, def jsontext.Value) error { return m.Template(def, opts...) })
}

// register adds a feature to the hidden server of go-sdk that belongs to a server, and
// registers it under the definition that go-sdk lists for it.
func register(server *mcpserver.Server, list string, add func(*gosdk.Server), mirrored func(*mirror.Mirror, jsontext.Value) error) {
	def, err := definition(list, add)
	if err == nil {
		b := bridgeOf(server)
		if err = mirrored(mirror.New(server, b), def); err == nil {
			add(b.other)
		}
	}
	if err != nil {
		panic(fmt.Sprintf("fromgosdk: %v", err))
	}
}

// definition returns what go-sdk lists for a feature, which is added to a server that has
// nothing else.
func definition(method string, add func(*gosdk.Server)) (jsontext.Value, error) {
	b := newBridge(newHidden())
	defer b.close()
	add(b.other)
	if _, err := b.start(); err != nil {
		return nil, err
	}
	raw, err := b.Do(context.Background(), method, &mcp.ListParams{})
	if err != nil {
		return nil, err
	}
	var result struct {
		Tools             []jsontext.Value `json:"tools"`
		Prompts           []jsontext.Value `json:"prompts"`
		Resources         []jsontext.Value `json:"resources"`
		ResourceTemplates []jsontext.Value `json:"resourceTemplates"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, err
	}
	for _, listed := range [][]jsontext.Value{result.Tools, result.Prompts, result.Resources, result.ResourceTemplates} {
		if len(listed) == 1 {
			return listed[0], nil
		}
	}
	return nil, fmt.Errorf("%s: go-sdk does not list the feature", method)
}

func newHidden() *gosdk.Server {
	return gosdk.NewServer(&gosdk.Implementation{Name: "fromgosdk", Version: "1"}, nil)
}

// hidden are the bridges of the servers that single features are registered in. All features
// of one server share a bridge, so that their handlers share sessions, too. A server that is
// no longer used is not kept, so a bridge here has no reference to its server.
var hidden struct {
	sync.Mutex
	bridges map[weak.Pointer[mcpserver.Server]]*bridge // guarded by the Mutex
}

func bridgeOf(server *mcpserver.Server) *bridge {
	hidden.Lock()
	defer hidden.Unlock()
	key := weak.Make(server)
	if b, ok := hidden.bridges[key]; ok {
		return b
	}
	b := newBridge(newHidden())
	if hidden.bridges == nil {
		hidden.bridges = make(map[weak.Pointer[mcpserver.Server]]*bridge)
	}
	hidden.bridges[key] = b
	runtime.AddCleanup(server, forget, key)
	return b
}

func forget(key weak.Pointer[mcpserver.Server]) {
	hidden.Lock()
	defer hidden.Unlock()
	delete(hidden.bridges, key)
}
