package mcpcheck_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fondaco/fondaco/mcp/mcpcheck"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func ExampleLint() {
	srv := mcpserver.New("notes", "1.0.0", nil)
	srv.Tool("add-note", "Add a note", func(context.Context, struct{}) (string, error) { return "added", nil }, mcpserver.NonDestructive())
	srv.Tool("addNote", "", func(context.Context, struct{}) (string, error) { return "added", nil }, mcpserver.NonDestructive())
	c, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(srv), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	surface, err := c.Surface(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range mcpcheck.Lint(*surface) {
		fmt.Println(f)
	}
	// Output:
	// tool "addNote" /name: a model mistakes it for "add-note", and clients that rename features may give both one name (similar-names)
	// tool "addNote" /description: the description is missing: a model has the name alone to choose it by (description)
}
