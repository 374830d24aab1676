package mcpserver_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func ExampleServer_EndSessions() {
	srv := mcpserver.New("notes", "1.0.0", nil)
	c, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(srv), &mcpclient.Options{
		Info: mcp.Implementation{Name: "editor", Version: "2.1.0"}, Revisions: []mcp.Revision{mcp.V20251125},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ended := srv.EndSessions(func(_ mcp.Principal, client *mcp.Implementation) bool {
		return client != nil && client.Name == "editor"
	})
	fmt.Println("ended:", ended)
	// Output: ended: 1
}
