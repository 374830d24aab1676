// Package sdks builds the server of a comparison with the other Go SDKs, in the way
// that each documents and with its defaults.
package sdks

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fondaco/fondaco/bench/internal/contest"
)

type text struct {
	Text string `json:"text"`
}

type pair struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type total struct {
	Sum float64 `json:"sum"`
}

// GoSDK returns a server of github.com/modelcontextprotocol/go-sdk. Its tools are
// typed, so that input and output are validated. Its lists have one page.
func GoSDK(tools int) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1.0.0"}, &mcp.ServerOptions{
		PageSize:           max(mcp.DefaultPageSize, tools+10),
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Returns its argument."},
		func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			return goText(in.Text), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, _ *mcp.CallToolRequest, in pair) (*mcp.CallToolResult, total, error) {
			return nil, total{in.A + in.B}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "big", Description: "Returns 100 KiB of text."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return goText(contest.Big()), nil, nil
		})
	for _, t := range contest.Generated(tools) {
		s.AddTool(&mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return goText("ok"), nil })
	}
	s.AddResource(&mcp.Resource{URI: contest.Item, Name: "item"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "x"}}}, nil
		})
	return s
}

func goText(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
