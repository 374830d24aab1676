//go:build oldest

package main

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Version 0.32 has neither elicitation nor structured content, its server has no
// completion, and its client over HTTP opens no stream for notifications.

func clientOptions() []client.ClientOption { return nil }

func dialHTTP(url string) (transport.Interface, error) { return transport.NewStreamableHTTP(url) }

func structuredOf(*mcp.CallToolResult) any { return nil }

func (session) listenStateless(string) error { return errors.ErrUnsupported }

func serverOptions() []server.ServerOption { return nil }

func addNewTools(s *server.MCPServer) {
	tool(s, "add", func(context.Context, mcp.CallToolRequest) (string, error) { return "the sum", nil })
}
