// Mcpgo is a client and a server of github.com/mark3labs/mcp-go.
package main

import (
	"net/http"

	"github.com/mark3labs/mcp-go/server"

	"github.com/fondaco/fondaco/interop/peers/plan"
)

func main() {
	s := newServer()
	plan.Main(connect, func() error { return server.ServeStdio(s) }, map[string]func(string) http.Handler{
		"http": func(string) http.Handler { return server.NewStreamableHTTPServer(s) },
		"sse":  func(addr string) http.Handler { return server.NewSSEServer(s, server.WithBaseURL("http://"+addr)) },
	})
}
