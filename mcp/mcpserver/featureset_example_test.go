package mcpserver_test

import (
	"context"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A tool that needs the roots of the client is listed only to clients that have roots.
func ExampleServer_NewFeatureSet() {
	var withRoots *mcpserver.FeatureSet
	srv := mcpserver.New("files", "1.0.0", &mcpserver.Options{
		Dynamic: true,
		RequestFeatures: func(r *mcpserver.Request) (listed, unlisted []*mcpserver.FeatureSet) {
			if r.Capabilities().Roots != nil {
				listed = append(listed, withRoots)
			}
			return listed, nil
		},
	})
	withRoots = srv.NewFeatureSet()
	err := withRoots.AddTool(mcp.Tool{Name: "show_roots"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("no roots")}}, nil
	})
	if err != nil {
		fmt.Println(err)
	}

	ctx := context.Background()
	for _, o := range []*mcpclient.Options{
		{},
		{Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }},
	} {
		c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), o)
		if err != nil {
			fmt.Println(err)
			return
		}
		tools := 0
		for range c.Tools(ctx) {
			tools++
		}
		fmt.Println("tools:", tools)
		_ = c.Close()
	}
	// Output:
	// tools: 0
	// tools: 1
}
