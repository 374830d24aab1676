package mcpserver_test

import (
	"context"
	"fmt"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A server counts the clients that are connected over pipes and have called it.
func ExampleRequest_Connection() {
	seen := make(map[mcpserver.Connection]bool)
	srv := mcpserver.New("counter", "1.0.0", nil)
	srv.Tool("count", "Count the clients", func(ctx context.Context, _ struct{}) (int, error) {
		seen[mcpserver.From(ctx).Connection()] = true // the calls below do not overlap
		return len(seen), nil
	})

	ctx := context.Background()
	for range 2 {
		c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		for range 2 {
			n, err := c.Call[int](ctx, "count", nil)
			fmt.Println(n, err)
		}
		_ = c.Close()
	}
	// Output:
	// 1 <nil>
	// 1 <nil>
	// 2 <nil>
	// 2 <nil>
}
