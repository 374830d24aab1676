package mcpserver_test

import (
	"fmt"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func ExampleParseURITemplate() {
	t, err := mcpserver.ParseURITemplate("notes://{title}")
	if err != nil {
		panic(err)
	}
	fmt.Println(t, t.Matches("notes://today"), t.Matches("notes://2026/today"))
	_, err = mcpserver.ParseURITemplate("notes://{title")
	fmt.Println(err)
	// Output:
	// notes://{title} true false
	// parse template "notes://{title": byte 8: { has no }
}
