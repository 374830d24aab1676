// Openapi is a server with a tool for each operation of an OpenAPI document.
package main

import (
	"context"
	"encoding/json/v2"
	"log"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/fondaco/fondaco/examples/compared/app/openapi"
)

func main() {
	operations, err := openapi.Read(os.Getenv("OPENAPI_FILE"), os.Getenv("OPENAPI_URL"))
	if err != nil {
		log.Fatal(err)
	}
	srv := server.NewMCPServer("openapi", "1.0.0", server.WithInputSchemaValidation())
	for _, op := range operations {
		tool := mcp.NewToolWithRawSchema(op.ID, op.Summary, op.InputSchema())
		tool.Annotations = mcp.ToolAnnotation{ReadOnlyHint: mcp.ToBoolPtr(true)}
		srv.AddTool(tool, func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			arguments, err := json.Marshal(req.GetArguments())
			if err != nil {
				return nil, err
			}
			body, err := op.Do(ctx, arguments)
			if err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			return mcp.NewToolResultText(body), nil
		})
	}
	if err := server.ServeStdio(srv); err != nil {
		log.Fatal(err)
	}
}
