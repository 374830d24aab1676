package cli

import (
	"errors"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

// writeContent prints a content block: texts as they are, links on a line, and binary
// data as the path of a file.
func (m *Main) writeContent(c mcp.Content, files *fileWriter) error {
	switch c := c.(type) {
	case mcp.TextContent:
		return m.WriteText(c.Text)
	case mcp.EmbeddedResource:
		if !c.Resource.IsBlob() {
			return m.WriteText(c.Resource.Text)
		}
		return m.writeFile(files, c.Resource.Blob, c.Resource.MIMEType)
	case mcp.ResourceLink:
		return m.writeLink(c)
	case mcp.ImageContent:
		return m.writeFile(files, c.Data, c.MIMEType)
	case mcp.AudioContent:
		return m.writeFile(files, c.Data, c.MIMEType)
	case mcp.UnknownContent:
		return m.WriteLine("[%s]", c.Type)
	}
	return m.WriteLine("[%T]", c)
}

// writeLink prints a URI and the name of its resource.
func (m *Main) writeLink(l mcp.ResourceLink) error {
	row := []string{l.URI}
	if name := l.DisplayName(); name != "" {
		row = append(row, name)
	}
	return m.WriteTable(terminal.Table{Rows: [][]string{row}})
}

// fileWriter writes binary results to files.
type fileWriter struct{ dir string }

// writeFile writes a file that only the user can read, and prints its path.
func (m *Main) writeFile(files *fileWriter, data []byte, mimeType string) error {
	f, err := os.CreateTemp(files.dir, "fondaco-*"+extensionOf(mimeType)) // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	path, err := filepath.Abs(f.Name())
	if err != nil {
		return err
	}
	return m.WriteLine("%s", path)
}

// extensions maps common MIME types to extensions. A server cannot choose the extension,
// because it decides which program opens the file.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
	"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac",
	"application/pdf": ".pdf", "application/json": ".json", "application/zip": ".zip", "text/plain": ".txt",
}

func extensionOf(mimeType string) string {
	kind, _, err := mime.ParseMediaType(mimeType)
	if extension := extensions[strings.ToLower(kind)]; err == nil && extension != "" {
		return extension
	}
	return ".bin"
}
