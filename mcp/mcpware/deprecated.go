package mcpware

import "github.com/fondaco/fondaco/mcp/mcpserver"

// The names below were replaced. The next minor version removes them.

// Spill returns StoreLargeResults(s, o).
//
// Deprecated: use [StoreLargeResults].
//
//go:fix inline
func Spill(s *mcpserver.Server, o *LargeResultOptions) mcpserver.Middleware {
	return StoreLargeResults(s, o)
}

// SpillOptions is LargeResultOptions.
//
// Deprecated: use [LargeResultOptions].
//
//go:fix inline
type SpillOptions = LargeResultOptions
