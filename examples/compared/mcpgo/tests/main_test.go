// Package tests tests a server.
package tests

import (
	"context"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/mcptest"
	"github.com/mark3labs/mcp-go/server"
)

func greet(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("Hello, " + req.GetString("name", "") + "!"), nil
}

func remove(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := req.GetString("name", "")
	answer := server.ElicitationResponse(req.Params.InputResponses, "consent")
	if answer == nil {
		return server.NewInputRequestBuilder("").Elicit("consent", mcp.ElicitationParams{
			Message: "Delete " + name + "?",
			RequestedSchema: map[string]any{
				"type":       "object",
				"properties": map[string]any{"delete": map[string]any{"type": "boolean"}},
				"required":   []string{"delete"},
			},
		}).ToolResult(), nil
	}
	if answer.Action != mcp.ElicitationResponseActionAccept {
		return mcp.NewToolResultError("the user did not agree"), nil
	}
	content, _ := answer.Content.(map[string]any)
	if agreed, ok := content["delete"].(bool); !ok || !agreed {
		return mcp.NewToolResultText("Nothing was deleted."), nil
	}
	return mcp.NewToolResultText(name + " is deleted."), nil
}

type user struct{ answer mcp.ElicitationResponse }

func (u user) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: u.answer}, nil
}

func connect(t *testing.T, answer mcp.ElicitationResponse) *mcptest.Server {
	srv := mcptest.NewUnstartedServer(t)
	srv.AddServerOptions(server.WithElicitation(), server.WithInputSchemaValidation())
	srv.SetElicitationHandler(user{answer})
	srv.AddTool(mcp.NewTool("greet", mcp.WithDescription("Greets somebody"), mcp.WithString("name", mcp.Required())), greet)
	srv.AddTool(mcp.NewTool("remove", mcp.WithDescription("Removes a person"), mcp.WithString("name", mcp.Required())), remove)
	if err := srv.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

func call(t *testing.T, srv *mcptest.Server, tool string, args map[string]any) (text string, failed bool) {
	req := mcp.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = tool, args
	r, err := srv.Client().CallTool(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return mcp.GetTextFromContent(r.Content[0]), r.IsError
}

func TestGreet(t *testing.T) {
	srv := connect(t, mcp.ElicitationResponse{})
	if got, failed := call(t, srv, "greet", map[string]any{"name": "Ada"}); failed || got != "Hello, Ada!" {
		t.Errorf("got %q, %v", got, failed)
	}
	if got, failed := call(t, srv, "greet", map[string]any{}); !failed || !strings.Contains(got, "name") {
		t.Errorf("got %q, want an error that says what is missing", got)
	}
}

func TestRemoveAsksTheUser(t *testing.T) {
	srv := connect(t, mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"delete": true}})
	if got, failed := call(t, srv, "remove", map[string]any{"name": "Ada"}); failed || got != "Ada is deleted." {
		t.Errorf("got %q, %v", got, failed)
	}
	srv = connect(t, mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionDecline})
	if got, failed := call(t, srv, "remove", map[string]any{"name": "Ada"}); !failed {
		t.Errorf("got %q, want that the user declined", got)
	}
}
