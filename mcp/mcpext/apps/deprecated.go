package apps

import (
	"context"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// The names below were replaced. The next minor version removes them.

// Of returns Load(ctx, c, o).
//
// Deprecated: use [Load].
//
//go:fix inline
func Of(ctx context.Context, c *mcpclient.Client, o *HostOptions) (*Interfaces, error) {
	return Load(ctx, c, o)
}

// Shown returns Supported(ctx).
//
// Deprecated: use [Supported].
//
//go:fix inline
func Shown(ctx context.Context) bool { return Supported(ctx) }
