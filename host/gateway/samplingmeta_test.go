package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A key of the protocol would speak for the host, and clients refuse keys that are none.
func TestMetadataInSamplingRequestsIsThatOfTheServerAlone(t *testing.T) {
	t.Parallel()
	meta := func() mcp.Meta {
		return mcp.Meta{"a b": jsontext.Value("1"), "io.modelcontextprotocol/serverInfo": jsontext.Value(`{"name":"x"}`), "com.example/cache": jsontext.Value(`"kept"`)}
	}
	text := func() mcp.Contents { return mcp.Contents{mcp.TextContent{Text: "t", Meta: meta()}} }
	request := &mcp.CreateMessageParams{
		MaxTokens: 10,
		Tools:     []mcp.Tool{{Name: "t", InputSchema: jsonValue(`{"type":"object"}`), Meta: meta()}},
		Messages: []mcp.SamplingMessage{
			{Role: mcp.RoleUser, Content: text(), Meta: meta()},
			{Role: mcp.RoleAssistant, Content: mcp.Contents{mcp.ToolUseContent{ID: "1", Name: "t", Input: jsonValue(`{}`), Meta: meta()}}},
			{Role: mcp.RoleUser, Content: mcp.Contents{mcp.ToolResultContent{ToolUseID: "1", Content: text(), Meta: meta()}}},
		},
	}
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		relayed := ""
		c := mcptest.Connect(t, start(t, upstream("a", interviewer(mcp.MethodCreateMessage, request))).Server(), &mcpclient.Options{
			Revisions: []mcp.Revision{revision}, Logger: quiet,
			Capabilities: mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{Tools: new(mcp.Capability)}},
			Sample: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				raw, err := json.Marshal(p)
				relayed = string(raw)
				return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text("ok")}}, err
			},
		}, mcptest.CheckOnly(mcptest.Client)) // the server of the test sends what it must not
		if _, err := c.CallTool(t.Context(), "a__ask", nil); err != nil {
			t.Errorf("%s: %v", revision, err)
		}
		if kept := strings.Count(relayed, "com.example/cache"); kept != 6 || strings.Contains(relayed, "a b") || strings.Contains(relayed, "serverInfo") {
			t.Errorf("%s: got %s, want the keys of the server alone, six times", revision, relayed)
		}
	}
}
