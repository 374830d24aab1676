// Mount is a server that offers the features of two other servers of its process.
package main

import (
	"context"
	"log"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func calendar() *server.MCPServer {
	srv := server.NewMCPServer("calendar", "1.0.0")
	srv.AddTool(mcp.NewTool("next", mcp.WithDescription("The next appointment")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("Lunch with Ada"), nil
		})
	srv.AddResource(mcp.NewResource("calendar://today", "today", mcp.WithMIMEType("text/plain")),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "Lunch"}}, nil
		})
	return srv
}

func weather() *server.MCPServer {
	srv := server.NewMCPServer("weather", "1.0.0", server.WithInputSchemaValidation())
	srv.AddTool(mcp.NewTool("next", mcp.WithDescription("The weather of tomorrow"),
		mcp.WithString("place", mcp.Required(), mcp.Description("name of a town"))),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("Rain in " + req.GetString("place", "")), nil
		})
	return srv
}

// mount adds the features of another server to a server, under the names of tools with a prefix.
func mount(ctx context.Context, srv *server.MCPServer, prefix string, inner *server.MCPServer) error {
	c, err := client.NewInProcessClient(inner)
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "office", Version: "1.0.0"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return err
	}
	tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return err
	}
	for _, tool := range tools.Tools {
		name := tool.Name
		tool.Name = prefix + "__" + name
		srv.AddTool(tool, func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			req.Params.Name = name
			return c.CallTool(ctx, req)
		})
	}
	if c.GetServerCapabilities().Resources == nil {
		return nil
	}
	resources, err := c.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil {
		return err
	}
	for _, r := range resources.Resources {
		srv.AddResource(r, func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			read, err := c.ReadResource(ctx, req)
			if err != nil {
				return nil, err
			}
			return read.Contents, nil
		})
	}
	return nil
}

func main() {
	ctx := context.Background()
	srv := server.NewMCPServer("office", "1.0.0")
	for prefix, inner := range map[string]*server.MCPServer{"calendar": calendar(), "weather": weather()} {
		if err := mount(ctx, srv, prefix, inner); err != nil {
			log.Fatal(err)
		}
	}
	if err := server.ServeStdio(srv); err != nil {
		log.Fatal(err)
	}
}
