package frommcpgo

import (
	jsonv1 "encoding/json"
	"encoding/json/jsontext"
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// Tool registers a tool of mcp-go. It panics where mcpserver.Server.AddTool does. Other than
// in mcp-go by default, the arguments are valid under the input schema.
func Tool(server *mcpserver.Server, tool mcpgotypes.Tool, handler mcpgo.ToolHandlerFunc, opts ...mcpserver.ToolOption) {
	register(server, tool, func(other *mcpgo.MCPServer) { other.AddTool(tool, handler) },
		func(m *mirror.Mirror, def jsontext.Value) error { return m.Tool(def, opts...) })
}

// Prompt registers a prompt of mcp-go. A completion of its arguments is an option of
// mcpserver, such as mcpserver.CompleteArg.
func Prompt(server *mcpserver.Server, prompt mcpgotypes.Prompt, handler mcpgo.PromptHandlerFunc, opts ...mcpserver.PromptOption) {
	register(server, prompt, func(other *mcpgo.MCPServer) { other.AddPrompt(prompt, handler) },
		func(m *mirror.Mirror, def jsontext.Value) error { return m.Prompt(def, opts...) })
}

// Resource registers a resource of mcp-go. Call mcpserver.Server.Updated when it has changed.
func Resource(server *mcpserver.Server, resource mcpgotypes.Resource, handler mcpgo.ResourceHandlerFunc, opts ...mcpserver.ResourceOption) {
	register(server, resource, func(other *mcpgo.MCPServer) { other.AddResource(resource, handler) },
		func(m *mirror.Mirror, def jsontext.Value) error { return m.Resource(def, opts...) })
}

// Template registers a resource template of mcp-go.
func Template(server *mcpserver.Server, template mcpgotypes.ResourceTemplate, handler mcpgo.ResourceTemplateHandlerFunc, opts ...mcpserver.ResourceOption) {
	register(server, template, func(other *mcpgo.MCPServer) { other.AddResourceTemplate(template, handler) },
		func(m *mirror.Mirror, def jsontext.Value) error { return m.Template(def, opts...) })
}

// register adds a feature to the hidden server of mcp-go that belongs to a server, and
// registers it under its definition.
func register(server *mcpserver.Server, def any, add func(*mcpgo.MCPServer), mirrored func(*mirror.Mirror, jsontext.Value) error) {
	raw, err := encode(def)
	if err == nil {
		b := bridgeOf(server)
		if err = mirrored(mirror.New(server, b), raw); err == nil {
			add(b.other)
		}
	}
	if err != nil {
		panic(fmt.Sprintf("frommcpgo: %v", err))
	}
}

// encode encodes a value of mcp-go by the JSON package that mcp-go is written for.
func encode(v any) (jsontext.Value, error) {
	raw, err := jsonv1.Marshal(v)
	return raw, err
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
	b := newBridge(mcpgo.NewMCPServer("frommcpgo", "1"), nil)
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

var _ mirror.Foreign = (*bridge)(nil)
