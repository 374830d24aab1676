// Media is a server whose tools return a picture, a sound, and a table as a resource.
package main

import (
	"context"
	"errors"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fondaco/fondaco/examples/compared/app/media"
)

type numbers struct {
	Values []float64 `json:"values" jsonschema:"numbers from 0 to 100"`
}

type pitch struct {
	Hertz float64 `json:"hertz" jsonschema:"frequency"`
}

func result(content ...mcp.Content) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: content}, nil, nil
}

func chart(_ context.Context, _ *mcp.CallToolRequest, in numbers) (*mcp.CallToolResult, any, error) {
	if len(in.Values) == 0 {
		return nil, nil, errors.New("values: there are none")
	}
	return result(&mcp.TextContent{Text: "A bar for each value:"}, &mcp.ImageContent{Data: media.Chart(in.Values), MIMEType: "image/png"})
}

func tone(_ context.Context, _ *mcp.CallToolRequest, in pitch) (*mcp.CallToolResult, any, error) {
	if in.Hertz < 20 || in.Hertz > 4000 {
		return nil, nil, errors.New("hertz: want 20 to 4000")
	}
	return result(&mcp.AudioContent{Data: media.Tone(in.Hertz), MIMEType: "audio/wav"})
}

func table(_ context.Context, _ *mcp.CallToolRequest, in numbers) (*mcp.CallToolResult, any, error) {
	csv := &mcp.ResourceContents{URI: "tables://values", MIMEType: "text/csv", Text: media.Table(in.Values)}
	return result(&mcp.EmbeddedResource{Resource: csv}, &mcp.ResourceLink{URI: "tables://all", Name: "all tables"})
}

func main() {
	srv := mcp.NewServer(&mcp.Implementation{Name: "media", Version: "1.0.0"}, nil)
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(srv, &mcp.Tool{Name: "chart", Description: "Draws a chart", Annotations: readOnly}, chart)
	mcp.AddTool(srv, &mcp.Tool{Name: "tone", Description: "Makes a tone", Annotations: readOnly}, tone)
	mcp.AddTool(srv, &mcp.Tool{Name: "table", Description: "Makes a table", Annotations: readOnly}, table)
	if err := srv.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
