package main

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

var files = fstest.MapFS{"guide.html": {Data: []byte("<h1>Guide</h1>")}, "logo.gif": {Data: []byte("GIF89a and more")}}

// show returns what a client shows of a result.
func show(cs mcp.Contents) (shown []string) {
	for _, c := range cs {
		switch c := c.(type) {
		case mcp.TextContent:
			shown = append(shown, c.Text)
		case mcp.ImageContent:
			shown = append(shown, "image "+c.MIMEType)
		case mcp.AudioContent:
			shown = append(shown, "audio "+c.MIMEType)
		case mcp.ResourceLink:
			shown = append(shown, "link "+c.URI)
		case mcp.EmbeddedResource:
			shown = append(shown, "resource "+c.Resource.URI+" "+c.Resource.MIMEType)
		default:
			shown = append(shown, "a kind that this program does not know")
		}
	}
	return shown
}

func TestContents(t *testing.T) {
	mcptest.EachRevision(t, newServer(files), func(t *testing.T, c *mcpclient.Client) {
		audio, link := "audio audio/wav", "link color://red"
		if c.Revision() == mcp.V20241105 {
			audio = "resource data:audio/wav audio/wav"
		}
		if v := c.Revision(); v == mcp.V20241105 || v == mcp.V20250326 {
			link = "red: color://red"
		}
		for _, test := range []struct {
			tool string
			args map[string]any
			want []string
		}{
			{"swatch", map[string]any{"color": "red"}, []string{"image image/png"}},
			{"tone", nil, []string{"A tone of 440 Hz.", audio}},
			{"file", map[string]any{"name": "guide.html"}, []string{"resource file:///guide.html text/html"}},
			{"file", map[string]any{"name": "logo.gif"}, []string{"resource file:///logo.gif image/gif"}},
			{"palette", nil, []string{link}},
			{"measure", map[string]any{"color": "blue"}, []string{`{"color":"blue","red":0,"green":0,"blue":255}`, "image image/png"}},
		} {
			r, err := c.CallTool(t.Context(), test.tool, test.args)
			if err != nil || r.IsError || len(r.Content) < len(test.want) {
				t.Errorf("%s: got %+v, %v, want %q", test.tool, r, err, test.want)
				continue
			}
			for i, got := range show(r.Content)[:len(test.want)] {
				if got != test.want[i] {
					t.Errorf("%s: got %s, want %s", test.tool, got, test.want[i])
				}
			}
		}
	})
}

func TestImageOfALink(t *testing.T) {
	c := mcptest.Connect(t, newServer(files), nil)
	r, err := c.ReadResource(t.Context(), "color://green")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(r.Contents[0].Blob)); err != nil {
		t.Errorf("got %v, want a PNG", err)
	}
	var got measured
	if got, err = c.Call[measured](t.Context(), "measure", paint{"red"}); err != nil || got != (measured{"red", 255, 0, 0}) {
		t.Errorf("got %+v, %v, want red", got, err)
	}
	if _, err := c.Call[string](t.Context(), "file", file{"../secret"}); err == nil {
		t.Error("got a file outside of the directory, want an error")
	}
}

func TestLargeResultIsReadByItsLink(t *testing.T) {
	c := mcptest.Connect(t, newServer(files), nil)
	last := 0.0
	r, err := c.CallTool(t.Context(), "table", size{20_000}, mcpclient.WithProgress(func(p mcp.ProgressParams) { last = p.Progress }))
	if err != nil {
		t.Fatal(err)
	}
	if last != 20_000 {
		t.Errorf("got progress up to %v, want that of all rows", last)
	}
	for _, content := range r.Content {
		if link, ok := content.(mcp.ResourceLink); ok {
			whole, err := c.ReadResource(t.Context(), link.URI)
			if err != nil || !strings.Contains(whole.Contents[0].Text, "19999 399960001") {
				t.Errorf("got %v, want the whole table", err)
			}
			return
		}
	}
	t.Errorf("got %q, want a link", show(r.Content))
}
