package cli

import (
	"fmt"

	"github.com/fondaco/fondaco/mcp"
)

// writeContents writes blocks of content: texts as they are, of other kinds one
// line that says what they are.
func (m *Main) writeContents(contents mcp.Contents) error {
	for _, c := range contents {
		if err := m.writeContent(c); err != nil {
			return err
		}
	}
	return nil
}

func (m *Main) writeContent(c mcp.Content) error {
	switch c := c.(type) {
	case mcp.TextContent:
		return m.writeText(c.Text)
	case mcp.EmbeddedResource:
		if !c.Resource.IsBlob() {
			return m.writeText(c.Resource.Text)
		}
		return m.writeLine("[resource %s: %d bytes of %s]", c.Resource.URI, len(c.Resource.Blob), c.Resource.MIMEType)
	case mcp.ResourceLink:
		return m.writeLine("%s", c.URI)
	case mcp.ImageContent:
		return m.writeLine("[image: %d bytes of %s]", len(c.Data), c.MIMEType)
	case mcp.AudioContent:
		return m.writeLine("[audio: %d bytes of %s]", len(c.Data), c.MIMEType)
	case mcp.UnknownContent:
		return m.writeLine("[%s]", c.Type)
	}
	return m.writeLine("[%T]", c)
}

func (m *Main) writeLine(format string, args ...any) error {
	_, err := fmt.Fprintln(m.Stdout, cleanLine(fmt.Sprintf(format, args...)))
	return err
}
