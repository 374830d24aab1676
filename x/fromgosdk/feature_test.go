package fromgosdk_test

import (
	"context"
	"encoding/json/jsontext"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/x/fromgosdk"
	"github.com/fondaco/fondaco/x/internal/mirror/mirrortest"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestRawToolIsServedBesideTypedOnes(t *testing.T) {
	server := mcpserver.New("ours", "1.0.0", nil)
	fromgosdk.Tool(server, &gosdk.Tool{Name: "typed"}, echo, mcpserver.ReadOnly())
	fromgosdk.RawTool(server, &gosdk.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) {
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: "raw"}}}, nil
	})
	mcptest.EachRevision(t, server, func(t *testing.T, c *mcpclient.Client) {
		for name, want := range map[string]string{"raw": "raw", "typed": `{"text":"hello"}`} {
			if got := mirrortest.Said(c.CallTool(t.Context(), name, textArgs{"hello"})); got != want {
				t.Errorf("tool %s: got %q, want %q", name, got, want)
			}
		}
	})
	for tool, err := range mcptest.Connect(t, server, nil).Tools(t.Context()) {
		readOnly := tool.Annotations != nil && *tool.Annotations.ReadOnlyHint
		if err != nil || readOnly != (tool.Name == "typed") {
			t.Errorf("tool %s: got %+v, %v, want the options of the tool", tool.Name, tool.Annotations, err)
		}
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
				InputRequests: gosdk.InputRequestMap{"name": &gosdk.ElicitParams{Message: "Your name?", RequestedSchema: jsontext.Value(
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
			if got, want := mirrortest.Said(result, err), "round 1 Ada"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
