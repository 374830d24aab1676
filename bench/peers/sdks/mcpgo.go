package sdks

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/fondaco/fondaco/bench/internal/contest"
)

// MCPGo returns a server of github.com/mark3labs/mcp-go. It does not validate, which
// is that SDK's default.
func MCPGo(tools int) *server.MCPServer {
	s := server.NewMCPServer("mcp-go", "1.0.0", server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true))
	s.AddTool(mcp.NewTool("echo", mcp.WithDescription("Returns its argument."), mcp.WithInputSchema[text]()),
		mcp.NewTypedToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in text) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(in.Text), nil
		}))
	s.AddTool(mcp.NewTool("add", mcp.WithDescription("Adds two numbers."), mcp.WithInputSchema[pair](), mcp.WithOutputSchema[total]()),
		mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in pair) (total, error) {
			return total{in.A + in.B}, nil
		}))
	s.AddTool(mcp.NewTool("big", mcp.WithDescription("Returns 100 KiB of text.")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(contest.Big()), nil
		})
	for _, t := range contest.Generated(tools) {
		s.AddTool(mcp.NewToolWithRawSchema(t.Name, t.Description, []byte(t.Schema)),
			func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText("ok"), nil
			})
	}
	s.AddResource(mcp.NewResource(contest.Item, "item"),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, Text: "x"}}, nil
		})
	return s
}
