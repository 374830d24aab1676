package frommcpgo_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/frommcpgo"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// A whole server of mcp-go is served in every revision.
func ExampleNewServer() {
	other := mcpgo.NewMCPServer("notes", "2.1.0")
	other.AddTool(echoTool, echo)
	server, err := frommcpgo.NewServer(other, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(server.Info().Name, callEcho(server))
	// Output: notes hello
}

// One tool of mcp-go is served beside tools of this SDK.
func ExampleTool() {
	server := mcpserver.New("notes", "3.0.0", nil)
	frommcpgo.Tool(server, echoTool, echo, mcpserver.ReadOnly())
	fmt.Println(callEcho(server))
	// Output: hello
}

func callEcho(server *mcpserver.Server) string {
	c, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(server), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	result, err := c.CallTool(context.Background(), "echo", map[string]string{"text": "hello"})
	if err != nil {
		log.Fatal(err)
	}
	return result.Content.Text()
}

var echoTool = mcpgotypes.NewTool("echo", mcpgotypes.WithDescription("Returns a text"), mcpgotypes.WithString("text"))

func echo(_ context.Context, r mcpgotypes.CallToolRequest) (*mcpgotypes.CallToolResult, error) {
	return mcpgotypes.NewToolResultText(r.GetString("text", "")), nil
}
