package fromgosdk_test

import (
	"context"
	"encoding/json/jsontext"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/fromgosdk"
	"github.com/fondaco/fondaco/x/internal/mirror/mirrortest"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAdapter runs the tests that each adapter has.
func TestAdapter(t *testing.T) {
	mirrortest.Run(t, mirrortest.Adapter{
		New: func() mirrortest.Other {
			return &otherServer{newOther(&gosdk.ServerOptions{
				Instructions:       "Ask first.",
				SubscribeHandler:   func(context.Context, *gosdk.SubscribeRequest) error { return nil },
				UnsubscribeHandler: func(context.Context, *gosdk.UnsubscribeRequest) error { return nil },
			})}
		},
		Tool: func(server *mcpserver.Server, name string, h mirrortest.Handler) {
			fromgosdk.Tool(server, tool(name), toolHandler(h))
		},
		Prompt: func(server *mcpserver.Server, name string, h mirrortest.Text) {
			fromgosdk.Prompt(server, prompt(name), promptHandler(h))
		},
		Resource: func(server *mcpserver.Server, uri string, h mirrortest.Text) {
			fromgosdk.Resource(server, &gosdk.Resource{URI: uri, Name: uri}, resourceHandler(h))
		},
		Template: func(server *mcpserver.Server, uri string, h mirrortest.Text) {
			fromgosdk.Template(server, &gosdk.ResourceTemplate{URITemplate: uri, Name: uri}, resourceHandler(h))
		},
	})
}

func newOther(o *gosdk.ServerOptions) *gosdk.Server {
	return gosdk.NewServer(&gosdk.Implementation{Name: "notes", Title: "Notes", Version: "2.1.0"}, o)
}

// mounted returns a server that has mounted another.
func mounted(t *testing.T, other *gosdk.Server) *mcpserver.Server {
	t.Helper()
	return mirrortest.Mounted(t, &otherServer{other})
}

// otherServer implements mirrortest.Other.
type otherServer struct{ *gosdk.Server }

func (o *otherServer) AddTool(name string, h mirrortest.Handler) {
	gosdk.AddTool(o.Server, tool(name), toolHandler(h))
}

func (o *otherServer) RemoveTool(name string) { o.RemoveTools(name) }

func (o *otherServer) AddPrompt(name string, h mirrortest.Text) {
	o.Server.AddPrompt(prompt(name), promptHandler(h))
}

func (o *otherServer) AddResource(uri string, h mirrortest.Text) {
	o.Server.AddResource(&gosdk.Resource{URI: uri, Name: uri}, resourceHandler(h))
}

func (o *otherServer) AddTemplate(uri string, h mirrortest.Text) {
	o.AddResourceTemplate(&gosdk.ResourceTemplate{URITemplate: uri, Name: uri}, resourceHandler(h))
}

func (o *otherServer) Updated(uri string) {
	_ = o.ResourceUpdated(context.Background(), &gosdk.ResourceUpdatedNotificationParams{URI: uri})
}

func (o *otherServer) Sessions() (n int) {
	for range o.Server.Sessions() {
		n++
	}
	return n
}

func (o *otherServer) Mount(server *mcpserver.Server, onError func(error), features ...mcpserver.Option) (func(), error) {
	return fromgosdk.Mount(server, o.Server, &fromgosdk.Options{Features: features, OnError: onError})
}

func (o *otherServer) NewServer(own *mcpserver.Options) (*mcpserver.Server, error) {
	return fromgosdk.NewServer(o.Server, own, nil)
}

type textArgs struct {
	Text string `json:"text,omitempty" jsonschema:"what to return"`
}

func tool(name string) *gosdk.Tool { return &gosdk.Tool{Name: name, Description: "Returns a text"} }

func toolHandler(h mirrortest.Handler) gosdk.ToolHandlerFor[textArgs, any] {
	return func(ctx context.Context, r *gosdk.CallToolRequest, in textArgs) (*gosdk.CallToolResult, any, error) {
		text, err := h(ctx, caller{r}, in.Text)
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: text}}}, nil, err
	}
}

func prompt(name string) *gosdk.Prompt {
	return &gosdk.Prompt{Name: name, Arguments: []*gosdk.PromptArgument{{Name: "who", Required: true}}}
}

func promptHandler(h mirrortest.Text) gosdk.PromptHandler {
	return func(_ context.Context, r *gosdk.GetPromptRequest) (*gosdk.GetPromptResult, error) {
		content := &gosdk.TextContent{Text: h(r.Params.Arguments["who"])}
		return &gosdk.GetPromptResult{Messages: []*gosdk.PromptMessage{{Role: "user", Content: content}}}, nil
	}
}

func resourceHandler(h mirrortest.Text) gosdk.ResourceHandler {
	return func(_ context.Context, r *gosdk.ReadResourceRequest) (*gosdk.ReadResourceResult, error) {
		return &gosdk.ReadResourceResult{Contents: []*gosdk.ResourceContents{{URI: r.Params.URI, Text: h(r.Params.URI)}}}, nil
	}
}

// caller implements mirrortest.Caller.
type caller struct{ *gosdk.CallToolRequest }

func (c caller) Session(context.Context) (id, client string) {
	s := c.CallToolRequest.Session
	return s.ID(), s.InitializeParams().ClientInfo.Name
}

func (c caller) Name(ctx context.Context, message string) (string, error) {
	schema := jsontext.Value(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
	answer, err := c.CallToolRequest.Session.Elicit(ctx, &gosdk.ElicitParams{Message: message, RequestedSchema: schema})
	if err != nil {
		return "", err
	}
	return answer.Content["name"].(string), nil
}

func (c caller) Root(ctx context.Context) (string, error) {
	answer, err := c.CallToolRequest.Session.ListRoots(ctx, nil)
	if err != nil {
		return "", err
	}
	return answer.Roots[0].URI, nil
}

func (c caller) Sample(ctx context.Context, text string) (string, error) {
	answer, err := c.CallToolRequest.Session.CreateMessage(ctx, &gosdk.CreateMessageParams{
		MaxTokens: 10, Messages: []*gosdk.SamplingMessage{{Role: "user", Content: &gosdk.TextContent{Text: text}}},
	})
	if err != nil {
		return "", err
	}
	return answer.Content.(*gosdk.TextContent).Text, nil
}

func (c caller) Progress(ctx context.Context, message string) error {
	return c.CallToolRequest.Session.NotifyProgress(ctx, &gosdk.ProgressNotificationParams{
		ProgressToken: c.Params.GetProgressToken(), Progress: 1, Total: 2, Message: message,
	})
}

func (c caller) Log(ctx context.Context, text string) error {
	return c.CallToolRequest.Session.Log(ctx, &gosdk.LoggingMessageParams{Level: "warning", Logger: "l", Data: text})
}

func (c caller) LogToSession(_ context.Context, text string) error {
	return c.Log(context.Background(), text)
}

// echo is a typed handler with a structured result.
func echo(_ context.Context, _ *gosdk.CallToolRequest, in textArgs) (*gosdk.CallToolResult, textArgs, error) {
	return nil, in, nil
}
