// Files serves the files below the working directory as resources.
package main

import (
	"context"
	"log"
	"os"

	"github.com/fondaco/fondaco/mcp/mcpext/files"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func main() {
	root, err := os.OpenRoot(".")
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()
	srv := mcpserver.New("files", "1.0.0", nil)
	served, err := files.Serve(srv, "file:///", root, nil)
	if err != nil {
		log.Fatal(err)
	}
	srv.Tool("rescan", "Look for files that came or went", func(context.Context, struct{}) (string, error) {
		return "The list is up to date.", served.Rescan()
	}, mcpserver.Idempotent(), mcpserver.ClosedWorld())
	mcpserver.Main(srv)
}
