// Media is an example server whose tools return images, audio, files, links and large results.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json/v2"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"log"
	"math"
	"os"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpware"
)

func main() {
	root, err := os.OpenRoot(".")
	if err != nil {
		log.Fatal(err)
	}
	mcpserver.Main(newServer(root.FS()))
}

// newServer returns a server of the files of a directory.
func newServer(files fs.FS) *mcpserver.Server {
	srv := mcpserver.New("media", "1.0.0", nil)
	srv.Use(mcpware.StoreLargeResults(srv, nil))
	srv.Tool("swatch", "An image of one color", swatch, mcpserver.ReadOnly())
	srv.Tool("tone", "A tone of half a second, and a text that says which", tone, mcpserver.ReadOnly())
	srv.Tool("file", "A file of the directory", func(_ context.Context, in file) (mcp.Content, error) {
		contents, err := mcp.ReadFile("file:///"+in.Name, files, in.Name)
		return mcp.Embed(contents), err
	}, mcpserver.ReadOnly())
	srv.Tool("palette", "Links to images of colors", palette, mcpserver.ReadOnly())
	srv.Tool("measure", "Measures a color, with an image for the user", measure, mcpserver.ReadOnly())
	srv.Tool("table", "A table of squares", table, mcpserver.ReadOnly())
	srv.Template("color://{color}", "swatch", "image/png", func(_ context.Context, in paint) ([]byte, error) {
		return in.png()
	})
	return srv
}

type paint struct {
	Color string `json:"color" enum:"red|green|blue"`
}

var colors = map[string]color.RGBA{"red": {R: 255, A: 255}, "green": {G: 255, A: 255}, "blue": {B: 255, A: 255}}

func (p paint) png() ([]byte, error) {
	canvas := image.NewRGBA(image.Rect(0, 0, 64, 64))
	draw.Draw(canvas, canvas.Bounds(), image.NewUniform(colors[p.Color]), image.Point{}, draw.Src)
	var b bytes.Buffer
	err := png.Encode(&b, canvas)
	return b.Bytes(), err
}

func swatch(_ context.Context, in paint) (mcp.Content, error) {
	data, err := in.png()
	return mcp.Image(data, "image/png"), err
}

type pitch struct {
	Hertz float64 `json:"hertz" min:"20" max:"4000" default:"440"`
}

func tone(_ context.Context, in pitch) (mcp.Contents, error) {
	return mcp.Contents{mcp.Textf("A tone of %g Hz.", in.Hertz), mcp.Audio(wav(in.Hertz), "audio/wav")}, nil
}

// wav returns half a second of a sine wave: 8 kHz, mono, 8 bits.
func wav(hertz float64) []byte {
	const rate, samples = 8000, 4000
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = append(b, 1, 0, 8, 0)
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, samples)
	for i := range samples {
		b = append(b, byte(128+100*math.Sin(2*math.Pi*hertz*float64(i)/rate)))
	}
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-8))
	return b
}

type file struct {
	Name string `json:"name" doc:"path in the directory"`
}

func palette(context.Context, struct{}) (mcp.Contents, error) {
	var links mcp.Contents
	for _, name := range []string{"red", "green", "blue"} {
		links = append(links, mcp.Link("color://"+name, name))
	}
	return links, nil
}

type measured struct {
	Color string `json:"color"`
	Red   uint8  `json:"red"`
	Green uint8  `json:"green"`
	Blue  uint8  `json:"blue"`
}

func measure(_ context.Context, in paint) (*mcp.CallToolResult, error) {
	c := colors[in.Color]
	structured, err := json.Marshal(measured{in.Color, c.R, c.G, c.B})
	if err != nil {
		return nil, err
	}
	data, err := in.png()
	if err != nil {
		return nil, err
	}
	picture := mcp.Image(data, "image/png")
	picture.Annotations = &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}}
	return &mcp.CallToolResult{
		Content:           mcp.Contents{mcp.Text(string(structured)), picture},
		StructuredContent: structured,
	}, nil
}

type size struct {
	Rows int `json:"rows" min:"1" max:"100000"`
}

func table(ctx context.Context, in size) (string, error) {
	var b strings.Builder
	for i := range in.Rows {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		fmt.Fprintln(&b, i, i*i)
		mcpserver.Progress(ctx, float64(i+1), float64(in.Rows), "rows")
	}
	return b.String(), nil
}
