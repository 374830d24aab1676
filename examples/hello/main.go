// Hello is the smallest server: one tool.
package main

import (
	"context"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type greeting struct {
	Name string `json:"name" doc:"whom to greet"`
}

func greet(_ context.Context, in greeting) (string, error) { return "Hello, " + in.Name + "!", nil }

func main() {
	srv := mcpserver.New("hello", "1.0.0", nil)
	srv.Tool("greet", "Greets somebody", greet, mcpserver.ReadOnly())
	mcpserver.Main(srv)
}
