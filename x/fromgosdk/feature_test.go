package fromgosdk_test

import (
	"context"
	"encoding/json"
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/x/fromgosdk"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestSingleFeaturesAreServedBesideOurs(t *testing.T) {
	server := mcpserver.New("ours", "1.0.0", nil)
	server.Tool("own", "", func(context.Context, textResult) (string, error) { return "own", nil })
	fromgosdk.Tool(server, &gosdk.Tool{Name: "echo"}, echo, mcpserver.ReadOnly())
	fromgosdk.RawTool(server, &gosdk.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) {
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: "raw"}}}, nil
	})
	read := func(_ context.Context, r *gosdk.ReadResourceRequest) (*gosdk.ReadResourceResult, error) {
		return &gosdk.ReadResourceResult{Contents: []*gosdk.ResourceContents{{URI: r.Params.URI, Text: "at " + r.Params.URI}}}, nil
	}
	fromgosdk.Resource(server, &gosdk.Resource{URI: "note:///index", Name: "index"}, read)
	fromgosdk.Template(server, &gosdk.ResourceTemplate{URITemplate: "note:///n/{id}", Name: "note"}, read)
	fromgosdk.Prompt(server, &gosdk.Prompt{Name: "greet"}, func(context.Context, *gosdk.GetPromptRequest) (*gosdk.GetPromptResult, error) {
		return &gosdk.GetPromptResult{Description: "hello"}, nil
	})
	mcptest.EachRevision(t, server, func(t *testing.T, c *mcpclient.Client) {
		for name, want := range map[string]string{"own": "own", "raw": "raw", "echo": `{"text":"none"}`} {
			if got := text(c.CallTool(t.Context(), name, textArgs{"none"})); got != want {
				t.Errorf("tool %s: got %q, want %q", name, got, want)
			}
		}
		for _, uri := range []string{"note:///index", "note:///n/7"} {
			if result, err := c.ReadResource(t.Context(), uri); err != nil || result.Contents[0].Text != "at "+uri {
				t.Errorf("resource %s: got %+v, %v", uri, result, err)
			}
		}
		if result, err := c.GetPrompt(t.Context(), "greet", nil); err != nil || result.Description != "hello" {
			t.Errorf("prompt: got %+v, %v", result, err)
		}
	})
}

func TestNameThatIsTakenIsAnError(t *testing.T) {
	server := mcpserver.New("ours", "1.0.0", nil)
	server.Tool("echo", "", func(context.Context, struct{}) (string, error) { return "own", nil })
	other := newOther(nil)
	gosdk.AddTool(other, &gosdk.Tool{Name: "another"}, echo)
	gosdk.AddTool(other, &gosdk.Tool{Name: "echo"}, echo)
	if _, err := fromgosdk.Mount(server, other, nil); err == nil || !strings.Contains(err.Error(), `"echo"`) {
		t.Errorf("Mount: got %v, want an error that names the tool", err)
	}
	c := mcptest.Connect(t, server, nil)
	if got := text(c.CallTool(t.Context(), "echo", nil)); got != "own" {
		t.Errorf("after a failed Mount: got %q, want the server's own tool", got)
	}
	for tool, err := range c.Tools(t.Context()) {
		if err != nil || tool.Name != "echo" {
			t.Errorf("after a failed Mount: got tool %q, %v, want echo alone", tool.Name, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Tool: got no panic")
		}
	}()
	fromgosdk.Tool(server, &gosdk.Tool{Name: "echo"}, echo)
}

func TestNewServerTakesNameAndInstructions(t *testing.T) {
	other := newOther(nil)
	gosdk.AddTool(other, &gosdk.Tool{Name: "echo"}, echo)
	server, err := fromgosdk.NewServer(other, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := server.Info(); got.Name != "notes" || got.Version != "2.1.0" {
		t.Errorf("got %+v, want the name and the version of the other server", got)
	}
}

// TestQuestionsOfHandlersReachTheClientInBothEras has a handler that returns its question, as
// go-sdk wants it for 2026-07-28.
func TestQuestionsOfHandlersReachTheClientInBothEras(t *testing.T) {
	other := newOther(nil)
	gosdk.AddTool(other, &gosdk.Tool{Name: "ask"}, func(_ context.Context, r *gosdk.CallToolRequest, _ struct{}) (*gosdk.CallToolResult, any, error) {
		answer, ok := r.Params.InputResponses["name"].(*gosdk.ElicitResult)
		if !ok {
			return &gosdk.CallToolResult{
				InputRequests: gosdk.InputRequestMap{"name": &gosdk.ElicitParams{Message: "Your name?", RequestedSchema: json.RawMessage(
					`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}},
				RequestState: "round 1",
			}, nil, nil
		}
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: r.Params.RequestState + " " + answer.Content["name"].(string)}}}, nil, nil
	})
	server, err := fromgosdk.NewServer(other, nil, &fromgosdk.Options{InputRequests: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		t.Run(v.String(), func(t *testing.T) {
			result, err := mcptest.Connect(t, server, &mcpclient.Options{
				Revisions: []mcp.Revision{v},
				ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)}, nil
				},
			}).CallTool(t.Context(), "ask", nil)
			if got, want := text(result, err), "round 1 Ada"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
