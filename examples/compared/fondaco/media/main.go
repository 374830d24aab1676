// Media is a server whose tools return a picture, a sound, and a table as a resource.
package main

import (
	"context"

	"github.com/fondaco/fondaco/examples/compared/app/media"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type numbers struct {
	Values []float64 `json:"values" doc:"numbers from 0 to 100" minitems:"1"`
}

type pitch struct {
	Hertz float64 `json:"hertz" doc:"frequency" min:"20" max:"4000"`
}

func chart(_ context.Context, in numbers) (mcp.Contents, error) {
	return mcp.Contents{mcp.Text("A bar for each value:"), mcp.Image(media.Chart(in.Values), "image/png")}, nil
}

func tone(_ context.Context, in pitch) (mcp.AudioContent, error) {
	return mcp.Audio(media.Tone(in.Hertz), "audio/wav"), nil
}

func table(_ context.Context, in numbers) (mcp.Contents, error) {
	csv := mcp.NewResourceContents("tables://values", "text/csv", []byte(media.Table(in.Values)))
	return mcp.Contents{mcp.Embed(csv), mcp.Link("tables://all", "all tables")}, nil
}

func main() {
	srv := mcpserver.New("media", "1.0.0", nil)
	srv.Tool("chart", "Draws a chart", chart, mcpserver.ReadOnly())
	srv.Tool("tone", "Makes a tone", tone, mcpserver.ReadOnly())
	srv.Tool("table", "Makes a table", table, mcpserver.ReadOnly())
	mcpserver.Main(srv)
}
