//go:build older

package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// askByRounds is ask: 2026-07-28 came with version 1.7.
func askByRounds(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return ask(ctx, r)
}
