// Openapi is a server with a tool for each operation of an OpenAPI document.
package main

import (
	"context"
	"log"
	"os"

	"github.com/fondaco/fondaco/examples/compared/app/openapi"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func main() {
	operations, err := openapi.Read(os.Getenv("OPENAPI_FILE"), os.Getenv("OPENAPI_URL"))
	if err != nil {
		log.Fatal(err)
	}
	srv := mcpserver.New("openapi", "1.0.0", nil)
	for _, op := range operations {
		def := mcp.Tool{Name: op.ID, Description: op.Summary, InputSchema: op.InputSchema()}
		srv.AddTool(def, func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			body, err := op.Do(ctx, p.Arguments)
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(body)}}, err
		}, mcpserver.ReadOnly())
	}
	mcpserver.Main(srv)
}
