package compared_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func useMedia(t *testing.T, file string) []string {
	c := connect(t, mcpclient.Command(file), nil)
	return []string{
		contents(t, c, "chart", object{"values": []int{10, 50, 90}}),
		call(t, c, "chart", object{"values": []int{}}),
		contents(t, c, "tone", object{"hertz": 440}),
		call(t, c, "tone", object{"hertz": 1}),
		contents(t, c, "table", object{"values": []float64{1.5, 2}}),
	}
}

var wantMedia = []string{
	`text "A bar for each value:", image/png "\x89PNG"`, "failed",
	`audio/wav "RIFF"`, "failed",
	`tables://values text/csv "value\n1.5\n2\n", link tables://all all tables`,
}

// contents describes the contents of a tool's result.
func contents(t *testing.T, c *mcpclient.Client, tool string, args object) string {
	t.Helper()
	r, err := c.CallTool(t.Context(), tool, args)
	if err != nil {
		return "error"
	}
	var all []string
	for _, c := range r.Content {
		text := ""
		switch c := c.(type) {
		case mcp.TextContent:
			text = fmt.Sprintf("text %q", c.Text)
		case mcp.ImageContent:
			text = fmt.Sprintf("%s %.4q", c.MIMEType, c.Data)
		case mcp.AudioContent:
			text = fmt.Sprintf("%s %.4q", c.MIMEType, c.Data)
		case mcp.EmbeddedResource:
			text = fmt.Sprintf("%s %s %q", c.Resource.URI, c.Resource.MIMEType, c.Resource.Text)
		case mcp.ResourceLink:
			text = "link " + c.URI + " " + c.Name
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
