package frommcpgo_test

import (
	"context"
	"encoding/json/jsontext"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/frommcpgo"
	"github.com/fondaco/fondaco/x/internal/mirror/mirrortest"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// TestAdapter runs the tests that each adapter has.
func TestAdapter(t *testing.T) {
	mirrortest.Run(t, mirrortest.Adapter{
		New: func() mirrortest.Other { return newOtherServer() },
		Tool: func(server *mcpserver.Server, name string, h mirrortest.Handler) {
			frommcpgo.Tool(server, tool(name), toolHandler(h))
		},
		Prompt: func(server *mcpserver.Server, name string, h mirrortest.Text) {
			frommcpgo.Prompt(server, prompt(name), promptHandler(h))
		},
		Resource: func(server *mcpserver.Server, uri string, h mirrortest.Text) {
			frommcpgo.Resource(server, mcpgotypes.NewResource(uri, uri), resourceHandler(h))
		},
		Template: func(server *mcpserver.Server, uri string, h mirrortest.Text) {
			frommcpgo.Template(server, mcpgotypes.NewResourceTemplate(uri, uri), resourceHandler(h))
		},
	})
}

func newOther(opts ...mcpgo.ServerOption) *mcpgo.MCPServer {
	return mcpgo.NewMCPServer("notes", "2.1.0", append([]mcpgo.ServerOption{mcpgo.WithToolCapabilities(true)}, opts...)...)
}

// mounted returns a server that has mounted another.
func mounted(t *testing.T, other *mcpgo.MCPServer) *mcpserver.Server {
	t.Helper()
	return mirrortest.Mounted(t, &otherServer{MCPServer: other})
}

// otherServer implements mirrortest.Other.
type otherServer struct {
	*mcpgo.MCPServer
	open atomic.Int64 // sessions
}

func newOtherServer() *otherServer {
	o, hooks := new(otherServer), new(mcpgo.Hooks)
	hooks.AddOnRegisterSession(func(context.Context, mcpgo.ClientSession) { o.open.Add(1) })
	hooks.AddOnUnregisterSession(func(context.Context, mcpgo.ClientSession) { o.open.Add(-1) })
	o.MCPServer = newOther(
		mcpgo.WithHooks(hooks), mcpgo.WithTitle("Notes"), mcpgo.WithInstructions("Ask first."), mcpgo.WithLogging(), mcpgo.WithElicitation(), mcpgo.WithRoots(),
		mcpgo.WithPromptCapabilities(true), mcpgo.WithResourceCapabilities(true, true),
	)
	o.EnableSampling()
	return o
}

func (o *otherServer) AddTool(name string, h mirrortest.Handler) {
	o.MCPServer.AddTool(tool(name), toolHandler(h))
}

func (o *otherServer) RemoveTool(name string) { o.DeleteTools(name) }

func (o *otherServer) AddPrompt(name string, h mirrortest.Text) {
	o.MCPServer.AddPrompt(prompt(name), promptHandler(h))
}

func (o *otherServer) AddResource(uri string, h mirrortest.Text) {
	o.MCPServer.AddResource(mcpgotypes.NewResource(uri, uri), resourceHandler(h))
}

func (o *otherServer) AddTemplate(uri string, h mirrortest.Text) {
	o.AddResourceTemplate(mcpgotypes.NewResourceTemplate(uri, uri), resourceHandler(h))
}

func (o *otherServer) Updated(uri string) {
	o.SendNotificationToAllClients("notifications/resources/updated", map[string]any{"uri": uri})
}

func (o *otherServer) Sessions() int { return int(o.open.Load()) }

func (o *otherServer) Mount(server *mcpserver.Server, onError func(error), features ...mcpserver.Option) (func(), error) {
	return frommcpgo.Mount(server, o.MCPServer, &frommcpgo.Options{Features: features, OnError: onError})
}

func (o *otherServer) NewServer(own *mcpserver.Options) (*mcpserver.Server, error) {
	return frommcpgo.NewServer(o.MCPServer, own, nil)
}

func tool(name string) mcpgotypes.Tool {
	return mcpgotypes.NewTool(name, mcpgotypes.WithDescription("Returns a text"), mcpgotypes.WithString("text", mcpgotypes.Description("what to return")))
}

func toolHandler(h mirrortest.Handler) mcpgo.ToolHandlerFunc {
	return func(ctx context.Context, r mcpgotypes.CallToolRequest) (*mcpgotypes.CallToolResult, error) {
		text, err := h(ctx, caller{mcpgo.ServerFromContext(ctx), r}, r.GetString("text", ""))
		if err != nil {
			return nil, err
		}
		return mcpgotypes.NewToolResultText(text), nil
	}
}

func prompt(name string) mcpgotypes.Prompt {
	return mcpgotypes.NewPrompt(name, mcpgotypes.WithArgument("who", mcpgotypes.RequiredArgument()))
}

func promptHandler(h mirrortest.Text) mcpgo.PromptHandlerFunc {
	return func(_ context.Context, r mcpgotypes.GetPromptRequest) (*mcpgotypes.GetPromptResult, error) {
		content := mcpgotypes.NewTextContent(h(r.Params.Arguments["who"]))
		return mcpgotypes.NewGetPromptResult("", []mcpgotypes.PromptMessage{mcpgotypes.NewPromptMessage("user", content)}), nil
	}
}

func resourceHandler(h mirrortest.Text) func(context.Context, mcpgotypes.ReadResourceRequest) ([]mcpgotypes.ResourceContents, error) {
	return func(_ context.Context, r mcpgotypes.ReadResourceRequest) ([]mcpgotypes.ResourceContents, error) {
		return []mcpgotypes.ResourceContents{mcpgotypes.TextResourceContents{URI: r.Params.URI, Text: h(r.Params.URI)}}, nil
	}
}

// caller implements mirrortest.Caller.
type caller struct {
	server *mcpgo.MCPServer
	r      mcpgotypes.CallToolRequest
}

func (c caller) Session(ctx context.Context) (id, client string) {
	s := mcpgo.ClientSessionFromContext(ctx)
	return s.SessionID(), s.(mcpgo.SessionWithClientInfo).GetClientInfo().Name
}

func (c caller) Name(ctx context.Context, message string) (string, error) {
	schema := jsontext.Value(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
	answer, err := c.server.RequestElicitation(ctx, mcpgotypes.ElicitationRequest{Params: mcpgotypes.ElicitationParams{Message: message, RequestedSchema: schema}})
	if err != nil {
		return "", err
	}
	return answer.Content.(map[string]any)["name"].(string), nil
}

func (c caller) Root(ctx context.Context) (string, error) {
	answer, err := c.server.RequestRoots(ctx, mcpgotypes.ListRootsRequest{})
	if err != nil {
		return "", err
	}
	return answer.Roots[0].URI, nil
}

func (c caller) Sample(ctx context.Context, text string) (string, error) {
	answer, err := c.server.RequestSampling(ctx, mcpgotypes.CreateMessageRequest{CreateMessageParams: mcpgotypes.CreateMessageParams{
		MaxTokens: 10, Messages: []mcpgotypes.SamplingMessage{{Role: "user", Content: mcpgotypes.NewTextContent(text)}},
	}})
	if err != nil {
		return "", err
	}
	return answer.Content.(mcpgotypes.TextContent).Text, nil
}

func (c caller) Progress(ctx context.Context, message string) error {
	return c.server.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
		"progressToken": c.r.Params.Meta.ProgressToken, "progress": 1, "total": 2, "message": message,
	})
}

func (c caller) Log(ctx context.Context, text string) error {
	return c.server.SendLogMessageToClient(ctx, warning(text))
}

func (c caller) LogToSession(ctx context.Context, text string) error {
	return c.server.SendLogMessageToSpecificClient(mcpgo.ClientSessionFromContext(ctx).SessionID(), warning(text))
}

func warning(text string) mcpgotypes.LoggingMessageNotification {
	return mcpgotypes.NewLoggingMessageNotification("warning", "l", text)
}
