// Gosdk is a client and a server of github.com/modelcontextprotocol/go-sdk.
package main

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fondaco/fondaco/interop/peers/plan"
)

func main() {
	s := newServer()
	get := func(*http.Request) *mcp.Server { return s }
	plan.Main(connect, func() error { return s.Run(context.Background(), &mcp.StdioTransport{}) },
		map[string]func(string) http.Handler{
			"http": func(string) http.Handler { return mcp.NewStreamableHTTPHandler(get, nil) },
			"stateless": func(string) http.Handler {
				return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})
			},
			"sse": func(string) http.Handler { return mcp.NewSSEHandler(get, nil) },
		})
}
