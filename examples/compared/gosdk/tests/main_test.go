// Package tests tests a server.
package tests

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type person struct {
	Name string `json:"name"`
}

func say(s string) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}, nil, nil
}

func newServer() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1.0.0"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "greet", Description: "Greets somebody"},
		func(_ context.Context, _ *mcp.CallToolRequest, in person) (*mcp.CallToolResult, any, error) {
			return say("Hello, " + in.Name + "!")
		})
	mcp.AddTool(srv, &mcp.Tool{Name: "remove", Description: "Removes a person"}, remove)
	return srv
}

func remove(_ context.Context, req *mcp.CallToolRequest, in person) (*mcp.CallToolResult, any, error) {
	given, ok := req.Params.InputResponses["consent"]
	if !ok {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"consent": &mcp.ElicitParams{
			Mode:    "form",
			Message: "Delete " + in.Name + "?",
			RequestedSchema: &jsonschema.Schema{
				Type: "object", Properties: map[string]*jsonschema.Schema{"delete": {Type: "boolean"}}, Required: []string{"delete"},
			},
		}}}, nil, nil
	}
	answer, ok := given.(*mcp.ElicitResult)
	if !ok || answer.Action != "accept" {
		return nil, nil, errors.New("the user did not agree")
	}
	if agreed, ok := answer.Content["delete"].(bool); !ok || !agreed {
		return say("Nothing was deleted.")
	}
	return say(in.Name + " is deleted.")
}

func connect(t *testing.T, answer *mcp.ElicitResult) *mcp.ClientSession {
	near, far := mcp.NewInMemoryTransports()
	if _, err := newServer().Connect(t.Context(), far, nil); err != nil {
		t.Fatal(err)
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1.0.0"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return answer, nil },
	})
	session, err := c.Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func call(t *testing.T, c *mcp.ClientSession, tool string, args any) (text string, failed bool) {
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

func TestGreet(t *testing.T) {
	c := connect(t, nil)
	if got, failed := call(t, c, "greet", person{"Ada"}); failed || got != "Hello, Ada!" {
		t.Errorf("got %q, %v", got, failed)
	}
	if got, failed := call(t, c, "greet", map[string]any{}); !failed || !strings.Contains(got, "name") {
		t.Errorf("got %q, want an error that says what is missing", got)
	}
}

func TestRemoveAsksTheUser(t *testing.T) {
	c := connect(t, &mcp.ElicitResult{Action: "accept", Content: map[string]any{"delete": true}})
	if got, failed := call(t, c, "remove", person{"Ada"}); failed || got != "Ada is deleted." {
		t.Errorf("got %q, %v", got, failed)
	}
	c = connect(t, &mcp.ElicitResult{Action: "decline"})
	if got, failed := call(t, c, "remove", person{"Ada"}); !failed {
		t.Errorf("got %q, want that the user declined", got)
	}
}
