// Relay is a server that forwards calls to another server, which may ask during a call.
package main

import (
	"cmp"
	"context"
	"log"
	"os"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// newServer returns a server with the tools of the upstream server.
func newServer(ctx context.Context, upstream mcpclient.Target) (*mcpserver.Server, error) {
	c, err := mcpclient.Connect(ctx, upstream, nil)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	srv := mcpserver.New("relay", "1.0.0", nil)
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		srv.AddTool(tool, relay(upstream))
	}
	return srv, nil
}

func main() {
	srv, err := newServer(context.Background(), mcpclient.URL(cmp.Or(os.Getenv("RELAY_TO"), "http://127.0.0.1:8080/mcp")))
	if err != nil {
		log.Fatal(err)
	}
	mcpserver.Main(srv)
}
