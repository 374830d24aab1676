//go:build !older

package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// askByRounds asks in a round of its own in 2026-07-28, else in the middle of the call.
func askByRounds(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if v, _ := r.Params.Meta[mcp.MetaKeyProtocolVersion].(string); v < "2026-07-28" {
		return ask(ctx, r)
	}
	if answer, ok := r.Params.InputResponses["who"].(*mcp.ElicitResult); ok {
		return hello(answer.Content["name"]), nil
	}
	params := question
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"who": &params}}, nil
}
