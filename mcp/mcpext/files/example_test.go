package files_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/files"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func ExampleServe() {
	dir, err := os.MkdirTemp("", "docs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "guide.md"), []byte("# Guide"), 0o600); err != nil {
		log.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()
	srv := mcpserver.New("docs", "1.0.0", nil)
	if _, err := files.Serve(srv, "file:///docs/", root, nil); err != nil {
		log.Fatal(err)
	}

	c, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(srv), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for r, err := range c.Resources(context.Background()) {
		fmt.Println(r.URI, r.MIMEType, err)
	}
	r, err := c.ReadResource(context.Background(), "file:///docs/guide.md")
	fmt.Println(r.Contents[0].Text, err)
	// Output:
	// file:///docs/ inode/directory <nil>
	// file:///docs/guide.md text/markdown <nil>
	// # Guide <nil>
}
