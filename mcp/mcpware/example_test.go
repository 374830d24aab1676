package mcpware_test

import (
	"context"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpware"
)

// A server tells of each call, also of those that its own limits refuse.
func Example() {
	srv := mcpserver.New("greeter", "1.0.0", &mcpserver.Options{Logger: quiet})
	srv.Tool("greet", "Greets", func(context.Context, struct{}) (string, error) { return "Hello!", nil },
		mcpserver.Rate(1, 1))
	srv.Use(mcpware.Audit(func(_ context.Context, e mcpware.Entry) {
		if e.Method == mcp.MethodToolsCall {
			fmt.Printf("%s called %s: %q\n", e.Principal, e.Name, mcp.CodeOf(e.Err))
		}
	}))

	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for range 2 {
		_, _ = c.CallTool(ctx, "greet", nil)
	}
	// Output:
	// local called greet: ""
	// local called greet: "rate limited"
}

// A client sends again what is safe to be sent again, and leaves a server alone that
// keeps failing.
func ExampleRetry() {
	srv := mcpserver.New("greeter", "1.0.0", &mcpserver.Options{Logger: quiet})
	srv.Tool("greet", "Greets", func(context.Context, struct{}) (string, error) { return "Hello!", nil },
		mcpserver.ReadOnly(), mcpserver.Rate(100, 1))

	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	c.Use(mcpware.Retry(nil), mcpware.Breaker(nil))
	for range 2 {
		fmt.Println(c.Call[string](ctx, "greet", nil))
	}
	// Output:
	// Hello! <nil>
	// Hello! <nil>
}
