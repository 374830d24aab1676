// Openapi is a server with a tool for each operation of an OpenAPI document.
package main

import (
	"context"
	"encoding/json/v2"
	"log"
	"os"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fondaco/fondaco/examples/compared/app/openapi"
)

// failure is the result of a tool that has failed.
func failure(err error) (*mcp.CallToolResult, error) {
	r := new(mcp.CallToolResult)
	r.SetError(err)
	return r, nil
}

// handle checks the arguments, which the server does for typed tools only, and calls an operation.
func handle(op *openapi.Operation, schema *jsonschema.Resolved) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var arguments map[string]any
		if err := json.Unmarshal(req.Params.Arguments, &arguments); err != nil {
			return failure(err)
		}
		if err := schema.Validate(arguments); err != nil {
			return failure(err)
		}
		body, err := op.Do(ctx, req.Params.Arguments)
		if err != nil {
			return failure(err)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: body}}}, nil
	}
}

func main() {
	operations, err := openapi.Read(os.Getenv("OPENAPI_FILE"), os.Getenv("OPENAPI_URL"))
	if err != nil {
		log.Fatal(err)
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "openapi", Version: "1.0.0"}, nil)
	for _, op := range operations {
		schema := new(jsonschema.Schema)
		if err := json.Unmarshal(op.InputSchema(), schema); err != nil {
			log.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			log.Fatal(err)
		}
		srv.AddTool(&mcp.Tool{
			Name: op.ID, Description: op.Summary, InputSchema: schema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		}, handle(op, resolved))
	}
	if err := srv.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
