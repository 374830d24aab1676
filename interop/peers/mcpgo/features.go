//go:build !oldest

package main

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/fondaco/fondaco/interop/peers/plan"
)

// user answers what servers ask.
type user struct{}

func (user) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: plan.Answer(r.Params.Message),
	}}, nil
}

func (user) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	message := mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewTextContent("an ode")}
	return &mcp.CreateMessageResult{SamplingMessage: message, Model: "none"}, nil
}

func clientOptions() []client.ClientOption {
	return []client.ClientOption{client.WithElicitationHandler(user{}), client.WithSamplingHandler(user{})}
}

// dialHTTP opens no stream for notifications of the session era, because the SDK does not
// negotiate 2026-07-28 then.
func dialHTTP(url string) (transport.Interface, error) { return transport.NewStreamableHTTP(url) }

func structuredOf(r *mcp.CallToolResult) any { return r.StructuredContent }

func (s session) listenStateless(uri string) error {
	filter := mcp.SubscriptionFilter{ToolsListChanged: true, ResourcesListChanged: true}
	if uri != "" {
		filter = mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}}
	}
	_, err := s.ListenAsync(context.Background(), filter, func(error) {})
	return err
}

// names completes names.
type names struct{}

func (names) CompletePromptArgument(_ context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: plan.Starting(a.Value)}, nil
}

func (names) CompleteResourceArgument(_ context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: plan.Starting(a.Value)}, nil
}

func serverOptions() []server.ServerOption {
	return []server.ServerOption{
		server.WithElicitation(), server.WithCompletions(),
		server.WithPromptCompletionProvider(names{}), server.WithResourceCompletionProvider(names{}),
	}
}

// addNewTools registers the tools that need features that version 0.32 lacks.
func addNewTools(s *server.MCPServer) {
	s.AddTool(mcp.NewTool("add", mcp.WithNumber("a", mcp.Required()), mcp.WithNumber("b", mcp.Required())),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultStructured(map[string]any{"sum": r.GetInt("a", 0) + r.GetInt("b", 0)}, "the sum"), nil
		})
	s.AddTool(mcp.NewTool("ask"), ask)
}

// ask asks in a round of its own in the stateless era, else in the middle of the call.
func ask(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	params := mcp.ElicitationParams{Message: "Your name?", RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"},
	}}
	if server.IsModernRequest(ctx) {
		answer := server.ElicitationResponse(r.Params.InputResponses, "who")
		if answer == nil {
			return new(server.InputRequestBuilder).Elicit("who", params).ToolResult(), nil
		}
		return hello(answer.Content), nil
	}
	answer, err := server.ServerFromContext(ctx).RequestElicitation(ctx, mcp.ElicitationRequest{Params: params})
	if err != nil {
		return nil, err
	}
	return hello(answer.Content), nil
}

func hello(content any) *mcp.CallToolResult {
	fields, _ := content.(map[string]any)
	return mcp.NewToolResultText(fmt.Sprintf("Hello, %v", fields["name"]))
}
