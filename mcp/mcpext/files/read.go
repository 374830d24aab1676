package files

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// read reads one file or directory.
func (f *Files) read(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
	at, ok := f.pathOf(p.URI)
	if !ok {
		return nil, mcpserver.ErrNotFound
	}
	file, info, err := f.tree.open(at)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	uri := f.uri(entry{path: at, info: info})
	if info.IsDir() {
		return f.directory(uri, at)
	}
	if strings.HasSuffix(p.URI, "/") {
		return nil, mcpserver.ErrNotFound
	}
	data, err := f.contents(uri, file, info)
	if err != nil {
		return nil, err
	}
	mimeType := typeOfName(at)
	if mimeType == "" {
		mimeType = withoutParameters(http.DetectContentType(data))
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.NewResourceContents(uri, mimeType, data)}}, nil
}

// contents reads a file, and at most one byte more than the limit.
func (f *Files) contents(uri string, file *os.File, info fs.FileInfo) ([]byte, error) {
	size := info.Size()
	var data []byte
	var err error
	if size <= f.maxSize {
		data, err = io.ReadAll(io.LimitReader(file, f.maxSize+1))
		size = max(size, int64(len(data)))
	}
	if size > f.maxSize {
		return nil, mcp.Errorf(mcp.CodeInternal, "resource %q: has %d bytes or more, the limit is %d", uri, size, f.maxSize)
	}
	return data, err
}

// directory lists a directory, one URI on each line.
func (f *Files) directory(uri, at string) (mcp.Result, error) {
	entries, more, err := f.tree.entries(at)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintln(&b, f.uri(e))
	}
	if more > 0 {
		fmt.Fprintf(&b, "(%d more are not listed)\n", more)
	}
	listing := mcp.ResourceContents{URI: uri, MIMEType: directoryType, Text: b.String()}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{listing}}, nil
}
