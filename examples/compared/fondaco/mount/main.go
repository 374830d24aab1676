// Mount is a server that offers the features of two other servers of its process.
package main

import (
	"context"
	"log"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type place struct {
	Place string `json:"place" doc:"name of a town"`
}

func calendar() *mcpserver.Server {
	srv := mcpserver.New("calendar", "1.0.0", nil)
	srv.Tool("next", "The next appointment", func(context.Context, struct{}) (string, error) { return "Lunch with Ada", nil })
	srv.Resource("calendar://today", "today", "text/plain", func(context.Context) ([]byte, error) { return []byte("Lunch"), nil })
	return srv
}

func weather() *mcpserver.Server {
	srv := mcpserver.New("weather", "1.0.0", nil)
	srv.Tool("next", "The weather of tomorrow", func(_ context.Context, in place) (string, error) { return "Rain in " + in.Place, nil })
	return srv
}

// mount adds the features of the servers of a group to a server.
func mount(ctx context.Context, srv *mcpserver.Server, g *mcpclient.Group) error {
	tools, err := g.Tools(ctx)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		srv.AddTool(tool, func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			return g.CallTool(ctx, p.Name, p.Arguments)
		})
	}
	resources, err := g.Resources(ctx)
	for _, r := range resources {
		srv.AddResource(r, func(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
			return g.ReadResource(ctx, p.URI)
		})
	}
	return err
}

func main() {
	ctx := context.Background()
	srv, g := mcpserver.New("office", "1.0.0", nil), new(mcpclient.Group)
	err := g.Connect(ctx, mcpclient.Member{Name: "calendar", Target: mcpclient.InProcess(calendar())},
		mcpclient.Member{Name: "weather", Target: mcpclient.InProcess(weather())})
	if err == nil {
		err = mount(ctx, srv, g)
	}
	if err != nil {
		log.Fatal(err)
	}
	mcpserver.Main(srv)
}
