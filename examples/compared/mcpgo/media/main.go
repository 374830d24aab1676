// Media is a server whose tools return a picture, a sound, and a table as a resource.
package main

import (
	"context"
	"encoding/base64"
	"log"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/fondaco/fondaco/examples/compared/app/media"
)

func result(content ...mcp.Content) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: content}, nil
}

func chart(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	values, err := req.RequireFloatSlice("values")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	data := base64.StdEncoding.EncodeToString(media.Chart(values))
	return result(mcp.NewTextContent("A bar for each value:"), mcp.NewImageContent(data, "image/png"))
}

func tone(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	hertz, err := req.RequireFloat("hertz")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return result(mcp.NewAudioContent(base64.StdEncoding.EncodeToString(media.Tone(hertz)), "audio/wav"))
}

func table(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	values, err := req.RequireFloatSlice("values")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	csv := mcp.TextResourceContents{URI: "tables://values", MIMEType: "text/csv", Text: media.Table(values)}
	return result(mcp.NewEmbeddedResource(csv), mcp.NewResourceLink("tables://all", "all tables", "", ""))
}

func main() {
	srv := server.NewMCPServer("media", "1.0.0", server.WithInputSchemaValidation())
	numbers := mcp.WithArray("values", mcp.Required(), mcp.Description("numbers from 0 to 100"), mcp.WithNumberItems(), mcp.MinItems(1))
	srv.AddTool(mcp.NewTool("chart", mcp.WithDescription("Draws a chart"), mcp.WithReadOnlyHintAnnotation(true), numbers), chart)
	srv.AddTool(mcp.NewTool("tone", mcp.WithDescription("Makes a tone"), mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithNumber("hertz", mcp.Required(), mcp.Description("frequency"), mcp.Min(20), mcp.Max(4000))), tone)
	srv.AddTool(mcp.NewTool("table", mcp.WithDescription("Makes a table"), mcp.WithReadOnlyHintAnnotation(true), numbers), table)
	if err := server.ServeStdio(srv); err != nil {
		log.Fatal(err)
	}
}
