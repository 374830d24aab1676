// Mount is a server that offers the features of two other servers of its process.
package main

import (
	"context"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type place struct {
	Place string `json:"place" jsonschema:"name of a town"`
}

func say(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func calendar() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "calendar", Version: "1.0.0"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "next", Description: "The next appointment"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return say("Lunch with Ada"), nil, nil
		})
	srv.AddResource(&mcp.Resource{URI: "calendar://today", Name: "today", MIMEType: "text/plain"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: "Lunch"}}}, nil
		})
	return srv
}

func weather() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "next", Description: "The weather of tomorrow"},
		func(_ context.Context, _ *mcp.CallToolRequest, in place) (*mcp.CallToolResult, any, error) {
			return say("Rain in " + in.Place), nil, nil
		})
	return srv
}

// mount adds the features of another server to a server, under the names of tools with a prefix.
func mount(ctx context.Context, srv *mcp.Server, prefix string, inner *mcp.Server) error {
	near, far := mcp.NewInMemoryTransports()
	if _, err := inner.Connect(ctx, far, nil); err != nil {
		return err
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "office", Version: "1.0.0"}, nil).Connect(ctx, near, nil)
	if err != nil {
		return err
	}
	for tool, err := range c.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		name := tool.Name
		tool.Name = prefix + "__" + name
		srv.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return c.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: req.Params.Arguments})
		})
	}
	if c.InitializeResult().Capabilities.Resources == nil {
		return nil
	}
	for r, err := range c.Resources(ctx, nil) {
		if err != nil {
			return err
		}
		srv.AddResource(r, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return c.ReadResource(ctx, req.Params)
		})
	}
	return nil
}

func main() {
	ctx := context.Background()
	srv := mcp.NewServer(&mcp.Implementation{Name: "office", Version: "1.0.0"}, nil)
	for prefix, inner := range map[string]*mcp.Server{"calendar": calendar(), "weather": weather()} {
		if err := mount(ctx, srv, prefix, inner); err != nil {
			log.Fatal(err)
		}
	}
	if err := srv.Run(ctx, &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
